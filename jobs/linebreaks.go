package jobs

import (
	"bufio"
	"bytes"
	"io"
)

// bareCRs refuses rows whose lines end in CR alone, as spreadsheets for old Macs write
// them: read as CSV or JSONL, all of them would be one line. Nil for other texts, and
// where the first line is longer than what is looked at.
// convert is the beginning of the command that makes plain UTF-8 of the file.
func bareCRs(br *bufio.Reader, format, convert string) *Problem {
	if format == "json" {
		return nil // where any white space does
	}
	head, _ := br.Peek(br.Size()) // what can be read; the reader will say what cannot
	cr := bytes.IndexByte(head, '\r')
	lf := bytes.IndexByte(head, '\n')
	if lf >= 0 && len(bytes.TrimSpace(head[lf:])) == 0 {
		head, lf = head[:lf], -1 // one LF at the very end
		head = bytes.TrimRight(head, "\r")
		cr = bytes.IndexByte(head, '\r')
	}
	if lf >= 0 && format != "jsonl" && cr >= 0 && cr+1 < lf && bytes.IndexByte(head[:cr], '"') < 0 && len(bytes.TrimSpace(head[cr:lf])) > 0 {
		return &Problem{Line: 1, What: "the header has a CR in it, and lines end in LF: lines of two kinds are in the file", Remedy: "let all lines end in LF: " + convert + "tr '\\r' '\\n'" + into(convert)}
	}
	if cr < 0 || lf >= 0 || len(bytes.TrimSpace(head[cr:])) == 0 {
		return nil
	}
	if format == "jsonl" && !bytes.HasSuffix(bytes.TrimRight(head[:cr], " \t"), []byte("}")) {
		return nil
	}
	return &Problem{Line: 1, What: "lines end in CR alone, as old Macs and their spreadsheets write them", Remedy: "convert it: " + convert + "tr '\\r' '\\n'" + into(convert)}
}

// into ends a command that reads the file itself, unless one before it does.
func into(convert string) string {
	if convert != "" {
		return " > NEW"
	}
	return " < FILE > NEW"
}

// plainText is what makes UTF-8 of a file before its bytes are changed; "" for one
// that is. What is packed or has two bytes a character, tr would destroy.
func plainText(inflated io.Reader, enc string) string {
	z, _ := inflated.(*inflater)
	iconv := ""
	if enc != "" {
		iconv = "iconv -f " + enc + " -t utf-8 FILE | "
	}
	switch {
	case z == nil || z.kind == "":
		return iconv
	case enc != "":
		return z.kind + " -dc FILE | iconv -f " + enc + " -t utf-8 | "
	}
	return z.kind + " -dc FILE | "
}
