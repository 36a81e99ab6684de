package jobs

import (
	"bufio"
	"bytes"
)

// bareCRs refuses rows whose lines end in CR alone, as spreadsheets for old Macs write
// them: read as CSV or JSONL, all of them would be one line. Nil for other texts, and
// where the first line is longer than what is looked at.
func bareCRs(br *bufio.Reader, format string) *Problem {
	if format == "json" {
		return nil // where any white space does
	}
	head, _ := br.Peek(br.Size()) // what can be read; the reader will say what cannot
	cr := bytes.IndexByte(head, '\r')
	if cr < 0 || bytes.IndexByte(head, '\n') >= 0 || len(bytes.TrimSpace(head[cr:])) == 0 {
		return nil
	}
	if format == "jsonl" && !bytes.HasSuffix(bytes.TrimRight(head[:cr], " \t"), []byte("}")) {
		return nil
	}
	return &Problem{Line: 1, What: "lines end in CR alone, as old Macs and their spreadsheets write them", Remedy: "convert it: tr '\\r' '\\n' < FILE > NEW"}
}
