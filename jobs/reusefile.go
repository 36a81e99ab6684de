package jobs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// eachLineOf gives a file's lines with their numbers from 0. A last line without
// an end was cut off and is passed over; so is a file that is not there.
func eachLineOf(ctx context.Context, path string, fn func(n uint32, line []byte) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 1<<20)
	var whole []byte
	for n := uint32(0); ; {
		piece, err := r.ReadSlice('\n')
		whole = append(whole, piece...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err == nil {
			err = fn(n, bytes.TrimSuffix(whole, []byte{'\n'}))
		}
		if err != nil {
			return err
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		whole = whole[:0]
	}
}

// eachGoodLine gives a results file's good ends; their index is the line's number.
func eachGoodLine(ctx context.Context, path string, fn func(goodRow)) error {
	return eachLineOf(ctx, path, func(n uint32, line []byte) error {
		var r struct {
			Row      string    `json:"id"`
			Status   string    `json:"status"`
			Key      string    `json:"key"`
			Instead  string    `json:"instead_of"`
			Finished time.Time `json:"finished_at"`
			From     *Origin   `json:"from"`
		}
		if json.Unmarshal(line, &r) != nil {
			return nil
		}
		good := goodEnd(Result{Row: r.Row, Key: r.Key, Instead: r.Instead, Finished: r.Finished, From: r.From}, ParseState(r.Status))
		if good != "" {
			g := readGoodRow(append([]byte(good), 0, 0, 0, 0))
			g.index = n
			fn(g)
		}
		return nil
	})
}
