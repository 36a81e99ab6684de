package gemini

import (
	"bytes"
	"encoding/binary"
	"math"
)

// duration of an audio or video part in seconds: as its head says, or at the
// lowest usual rate of bytes, which errs long.
func (p mediaPart) duration(leastBytes float64) float64 {
	if p.uri {
		if p.to > p.from {
			return p.to - p.from
		}
		return fileSeconds
	}
	b := p.decoded()
	for _, read := range []func([]byte) float64{wavSeconds, flacSeconds, oggSeconds, mp4Seconds, webmSeconds, mp3Seconds} {
		if s := read(b); s > 0 && !math.IsInf(s, 0) {
			return s
		}
	}
	return float64(len(b)) / leastBytes
}

func wavSeconds(b []byte) float64 {
	if len(b) < 44 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return 0
	}
	at := bytes.Index(b[:min(len(b), 4096)], []byte("fmt "))
	if at < 0 || at+20 > len(b) {
		return 0
	}
	return float64(len(b)) / float64(binary.LittleEndian.Uint32(b[at+16:]))
}

// flacSeconds reads STREAMINFO: 20 bits of rate, 36 bits of samples.
func flacSeconds(b []byte) float64 {
	if len(b) < 26 || string(b[:4]) != "fLaC" {
		return 0
	}
	v := binary.BigEndian.Uint64(b[18:])
	return float64(v&(1<<36-1)) / float64(v>>44)
}

// oggSeconds is the last page's position over the rate: Opus always counts at
// 48 kHz, Vorbis says its rate in the first page.
func oggSeconds(b []byte) float64 {
	last := bytes.LastIndex(b, []byte("OggS"))
	if len(b) < 64 || string(b[:4]) != "OggS" || last+14 > len(b) {
		return 0
	}
	rate := 48_000.0
	if at := bytes.Index(b[:64], []byte("\x01vorbis")); at >= 0 && at+16 <= len(b) {
		rate = float64(binary.LittleEndian.Uint32(b[at+12:]))
	}
	return float64(binary.LittleEndian.Uint64(b[last+6:])) / rate
}

// mp4Seconds reads the movie header of MP4, M4A, MOV and 3GP.
func mp4Seconds(b []byte) float64 {
	if len(b) < 12 || string(b[4:8]) != "ftyp" {
		return 0
	}
	at := bytes.Index(b, []byte("mvhd"))
	if at < 0 || at+40 > len(b) {
		return 0
	}
	if h := b[at+4:]; h[0] == 1 {
		return float64(binary.BigEndian.Uint64(h[24:])) / float64(binary.BigEndian.Uint32(h[20:]))
	}
	h := b[at+4:]
	return float64(binary.BigEndian.Uint32(h[16:])) / float64(binary.BigEndian.Uint32(h[12:]))
}

// webmSeconds reads Matroska's duration, an 8-byte float in milliseconds at the
// default time scale.
func webmSeconds(b []byte) float64 {
	if len(b) < 4 || !bytes.HasPrefix(b, []byte{0x1A, 0x45, 0xDF, 0xA3}) {
		return 0
	}
	at := bytes.Index(b[:min(len(b), 8192)], []byte{0x44, 0x89, 0x88})
	if at < 0 || at+11 > len(b) {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b[at+3:])) / 1000
}

var mp3Rates = [2][16]float64{
	{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0},     // MPEG 2 and 2.5, layer III
	{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0}, // MPEG 1, layer III
}

// mp3Seconds goes by the bit rate of the first frame.
func mp3Seconds(b []byte) float64 {
	if len(b) > 10 && string(b[:3]) == "ID3" {
		size := int(b[6])<<21 | int(b[7])<<14 | int(b[8])<<7 | int(b[9])
		b = b[min(len(b), size+10):]
	}
	if len(b) < 4 || b[0] != 0xFF || b[1]&0xE6 != 0xE2 {
		return 0
	}
	rate := mp3Rates[b[1]>>3&1][b[2]>>4]
	return float64(len(b)) / (rate * 125)
}
