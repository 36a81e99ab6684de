// Command nightshift runs bulk Gemini jobs overnight without taking quota from
// the people who are waiting for an answer.
package main

import (
	"os"

	"nightshift/cmd/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
