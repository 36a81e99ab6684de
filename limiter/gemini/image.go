package gemini

import (
	"encoding/binary"
	"image"
	_ "image/gif" // to read sizes
	_ "image/jpeg"
	_ "image/png"
	"io"
)

// imageTokens goes by the picture's size, never by its bytes.
func (p mediaPart) imageTokens(level string, old bool) int64 {
	if !old {
		return newImage.at(level)
	}
	if n := (resolution{64, 256, 0, 0, 0}).at(level); n > 0 {
		return n
	}
	w, h := p.size()
	if w == 0 || h == 0 {
		return 6 * oldTile
	}
	return tiles(w, h) * oldTile
}

// tiles of a picture: one up to 384 pixels a side, else squares of two thirds
// of its shorter side (https://ai.google.dev/gemini-api/docs/image-understanding).
func tiles(w, h int64) int64 {
	if w <= 384 && h <= 384 {
		return 1
	}
	unit := max(256, min(w, h)*2/3)
	return ((w + unit - 1) / unit) * ((h + unit - 1) / unit)
}

// size in pixels, or zero when the head does not say.
func (p mediaPart) size() (w, h int64) {
	if p.uri || len(p.data) == 0 {
		return 0, 0
	}
	if c, _, err := image.DecodeConfig(p.reader()); err == nil {
		return int64(c.Width), int64(c.Height)
	}
	head := make([]byte, 30)
	if _, err := io.ReadFull(p.reader(), head); err != nil {
		return 0, 0
	}
	return webpSize(head)
}

// webpSize reads the three kinds of WebP
// (https://developers.google.com/speed/webp/docs/riff_container).
func webpSize(b []byte) (w, h int64) {
	if string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return 0, 0
	}
	switch string(b[12:16]) {
	case "VP8X":
		return 1 + int24(b[24:]), 1 + int24(b[27:])
	case "VP8L":
		bits := binary.LittleEndian.Uint32(b[21:])
		return 1 + int64(bits&0x3FFF), 1 + int64(bits>>14&0x3FFF)
	case "VP8 ":
		return int64(binary.LittleEndian.Uint16(b[26:]) & 0x3FFF), int64(binary.LittleEndian.Uint16(b[28:]) & 0x3FFF)
	}
	return 0, 0
}

func int24(b []byte) int64 { return int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 }
