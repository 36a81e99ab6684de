package jobs

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// takenTypes is for people.
const takenTypes = "PNG, JPEG, WebP, HEIC and HEIF images, PDF, text, WAV, MP3, AIFF, AAC, Ogg and FLAC audio, and MP4, MPEG, MOV, AVI, FLV, WebM, WMV and 3GPP video"

// taken are the types that Gemini reads
// (https://ai.google.dev/gemini-api/docs/image-understanding, /document-processing,
// /audio and /video-understanding).
var taken = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/webp": true, "image/heic": true, "image/heif": true,
	"application/pdf": true,
	"audio/wav":       true, "audio/mp3": true, "audio/aiff": true, "audio/aac": true, "audio/ogg": true, "audio/flac": true, "audio/m4a": true,
	"video/mp4": true, "video/mpeg": true, "video/mov": true, "video/avi": true, "video/x-flv": true,
	"video/webm": true, "video/wmv": true, "video/3gpp": true,
	"text/plain": true, "text/html": true, "text/xml": true,
}

// asGemini are names of the API for what the standard calls otherwise.
var asGemini = map[string]string{
	"audio/wave": "audio/wav", "audio/mpeg": "audio/mp3", "application/ogg": "audio/ogg", "video/x-msvideo": "video/avi", "video/quicktime": "video/mov",
	"audio/x-wav": "audio/wav", "audio/x-aiff": "audio/aiff", "audio/x-flac": "audio/flac", "audio/x-m4a": "audio/m4a", "audio/mp4": "audio/m4a",
	"video/x-ms-wmv": "video/wmv", "video/x-ms-asf": "video/wmv", "image/heic-sequence": "image/heic", "image/heif-sequence": "image/heif",
}

// magic is how files begin that the library names otherwise. The mark stands at an
// offset.
var magic = []struct {
	at         int
	mark, mime string
}{
	{0, "fLaC", "audio/flac"},
	{0, "FORM", "audio/aiff"},
	{0, "FLV\x01", "video/x-flv"},
	{0, "\x00\x00\x01\xba", "video/mpeg"},
	{0, "\x00\x00\x01\xb3", "video/mpeg"},
	{0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/wmv"},
	{0, "\xff\xf1", "audio/aac"},
	{0, "\xff\xf9", "audio/aac"},
	{0, "\xff\xfb", "audio/mp3"}, // MPEG frames without an ID3 tag
	{0, "\xff\xf3", "audio/mp3"},
	{0, "\xff\xf2", "audio/mp3"},
	{4, "ftyphei", "image/heic"},
	{4, "ftyphev", "image/heic"},
	{4, "ftypmif1", "image/heif"},
	{4, "ftypmsf1", "image/heif"},
	{4, "ftypqt", "video/mov"},
	{4, "ftyp3g", "video/3gpp"},
	{4, "ftypM4A", "audio/m4a"},
	{4, "ftypavi", "image/avif"},
	{4, "ftyp", "video/mp4"},
}

// sniff tells a file's type by its content, and whether Gemini takes it.
func sniff(content []byte) (mime string, ok bool) {
	mime = magicType(content)
	if mime == "" {
		mime, _, _ = strings.Cut(mimetype.Detect(content).String(), ";")
	}
	if mime != "text/html" && mime != "text/xml" && isText(content) {
		mime = "text/plain" // CSV, JSON and the like: the model reads them as they are
	}
	if mime == "text/plain" && !utf8.Valid(content) {
		return "text that is not UTF-8", false
	}
	if name := asGemini[mime]; name != "" {
		mime = name
	}
	if mime == "application/octet-stream" {
		return "of no known type", false
	}
	return mime, taken[mime]
}

// isText says that the library derives a file's type from plain text.
func isText(content []byte) bool {
	for t := mimetype.Detect(content); t != nil; t = t.Parent() {
		if t.Is("text/plain") {
			return true
		}
	}
	return false
}

func magicType(content []byte) string {
	for _, m := range magic {
		if len(content) >= m.at+len(m.mark) && bytes.HasPrefix(content[m.at:], []byte(m.mark)) {
			return m.mime
		}
	}
	return ""
}
