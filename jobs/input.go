package jobs

import "io"

// Input is where rows come from. Only one of Path and Stdin is read.
type Input struct {
	Path      string    // a file; "-" reads Stdin
	Stdin     io.Reader // what "-" reads; a terminal is refused
	Format    string    // "csv", "tsv" or "jsonl"; empty goes by the name, then by the first byte
	Delimiter rune      // of CSV; 0 is ',' (tab for TSV)
	Encoding  string    // "" is UTF-8 (UTF-16 by its byte order mark); else cp932, shift_jis, euc-jp, gbk, euc-kr, latin1, windows-1252, utf-16, …
	MaxRecord int       // bytes of one record, 16 MiB when 0
	MaxBytes  int64     // bytes of the whole input once inflated, 64 GiB when 0
	TempDir   string    // where stdin is kept to be read twice; empty is the system's
}
