package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// file writes content under a name that tells its format.
func file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func specOf(tmpl string) Spec {
	return Spec{Kind: Generate, Model: "gemini-x", Lane: "gemini/p/global/gemini-x", Template: tmpl, Priority: Normal, Feature: "test"}
}

// read prepares an input and collects its rows, by both passes.
func read(t *testing.T, in Input, spec Spec) ([]RenderedRow, error) {
	t.Helper()
	p, err := Prepare(context.Background(), in, spec, PrepareOptions{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var rows []RenderedRow
	if err := p.Each(context.Background(), func(r RenderedRow) error { rows = append(rows, r); return nil }); err != nil {
		t.Fatalf("second pass: %v", err)
	}
	if int64(len(rows)) != p.Rows {
		t.Fatalf("first pass read %d rows, second %d", p.Rows, len(rows))
	}
	return rows, nil
}

// prompts renders content with a template and gives "id=prompt" per row.
func prompts(t *testing.T, name, content, tmpl string) []string {
	t.Helper()
	rows, err := read(t, Input{Path: file(t, name, []byte(content))}, specOf(tmpl))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, r.ID+"="+r.Prompt)
	}
	return out
}

func wantEqual(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// refused expects an InputError and gives its text, with the file's folder cut.
func refused(t *testing.T, in Input, spec Spec) string {
	t.Helper()
	_, err := read(t, in, spec)
	var ie *InputError
	if !errors.As(err, &ie) {
		t.Fatalf("got %v, want an InputError", err)
	}
	return strings.ReplaceAll(err.Error(), filepath.Dir(in.Path)+"/", "")
}

func TestCSVRecordsAreNotLines(t *testing.T) {
	content := "id,text\r\na,\"one\r\n\r\ntwo, three\"\r\nb,\"x\rbare\"\r\nc,\"say \"\"hi\"\"\"\r\n"
	wantEqual(t, prompts(t, "r.csv", content, "{{.text}}"), "a=one\r\n\r\ntwo, three", "b=x\rbare", "c=say \"hi\"")
}

func TestLinesOfRecords(t *testing.T) {
	rows, err := read(t, Input{Path: file(t, "r.csv", []byte("id,text\na,\"1\n2\n3\"\nb,x\n"))}, specOf("{{.text}}"))
	if err != nil || rows[0].Line != 2 || rows[1].Line != 5 {
		t.Errorf("lines %d, %d (%v), want 2, 5", rows[0].Line, rows[1].Line, err)
	}
}

func TestFormats(t *testing.T) {
	jsonl := `{"id":"a","text":"x"}` + "\n"
	for _, c := range []struct{ name, content string }{
		{"bom.csv", "\xef\xbb\xbfid,text\na,x\n"},
		{"no final newline.csv", "id,text\na,x"},
		{"tabs.tsv", "id\ttext\na\tx\n"},
		{"spaces in the header.csv", "id, text\na,x\n"},
		{"sniffed CSV", "id,text\na,x\n"},
		{"sniffed JSONL", "\n\n" + jsonl},
		{"blank lines.jsonl", "\r\n" + jsonl + "\n  \n"},
		{"crlf.ndjson", `{"id":"a","text":"x"}` + "\r\n"},
		{"gzip without a name", string(gz(t, jsonl))},
		{"gzip.csv.gz", string(gz(t, "id,text\na,x\n"))},
		{"two members.jsonl.gz", string(gz(t, `{"id":"a",`)) + string(gz(t, `"text":"x"}`))},
		{"zstd.jsonl", string(zst(t, jsonl))},
		{"utf-16.csv", encode(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "id,text\r\na,x\r\n")},
	} {
		t.Run(c.name, func(t *testing.T) { wantEqual(t, prompts(t, c.name, c.content, "{{.text}}"), "a=x") })
	}
}

func gz(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(s))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zst(t *testing.T, s string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(s), nil)
}

func encode(t *testing.T, enc encoding.Encoding, s string) string {
	t.Helper()
	out, err := enc.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStdin(t *testing.T) {
	in := Input{Path: "-", Stdin: bytes.NewReader(gz(t, "{\"id\":1,\"text\":\"x\"}\n")), TempDir: t.TempDir()}
	rows, err := read(t, in, specOf("{{.text}}"))
	if err != nil || len(rows) != 1 || rows[0].ID != "1" {
		t.Fatalf("rows %v, error %v", rows, err)
	}
	left, err := os.ReadDir(in.TempDir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// TestEncodings reads each encoding by its name, and expects it to be named
// when the same bytes are taken for UTF-8.
func TestEncodings(t *testing.T) {
	for _, c := range []struct {
		name string
		enc  encoding.Encoding
		text string
		hint string
	}{
		{"cp932", japanese.ShiftJIS, "商品の説明文をここに書きます。とても良いカメラです", "cp932"},
		{"shift_jis", japanese.ShiftJIS, "東京都の観光案内とホテルの予約", "cp932"},
		{"euc-jp", japanese.EUCJP, "商品の説明文をここに書きます。とても良いカメラです", "euc-jp"},
		{"gbk", simplifiedchinese.GBK, "这是一个关于产品的说明文字，非常好的相机", "gbk"},
		{"euc-kr", korean.EUCKR, "이것은 제품에 대한 설명입니다 매우 좋은 카메라", "euc-kr"},
		{"latin1", charmap.ISO8859_1, "Käse, Crème brûlée, Straße, año", "windows-1252"},
		{"windows-1252", charmap.Windows1252, "Größe “groß” – 5 €", "windows-1252"},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := []byte(encode(t, c.enc, "id\ttext\na\t"+c.text+"\n"))
			in := Input{Path: file(t, "r.tsv", content), Encoding: c.name}
			rows, err := read(t, in, specOf("{{.text}}"))
			if err != nil || rows[0].Prompt != c.text {
				t.Errorf("read %v (%v), want %q", rows, err, c.text)
			}
			in.Encoding = ""
			if msg := refused(t, in, specOf("{{.text}}")); !strings.Contains(msg, "r.tsv:2:") || !strings.Contains(msg, "--encoding "+c.hint+",") {
				t.Errorf("hint: %s", msg)
			}
		})
	}
}

func TestLongRecords(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	wantEqual(t, prompts(t, "r.jsonl", `{"id":"a","text":"`+long+`"}`, "{{len .text}}"), "a=300000")
	wantEqual(t, prompts(t, "r.csv", "id,text\na,"+long+"\n", "{{len .text}}"), "a=300000")
}
