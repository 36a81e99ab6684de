package jobs

import (
	"bytes"
	"context"
)

// refitBytes bounds the fields that Refit has in memory, and what it writes at once.
const refitBytes = 16 << 20

// savedLine is a row's last line in the file.
type savedLine struct {
	at     int64
	fields digest // of them as they stand there
}

// Refit gives the rows whose good answer the file held when it was opened the fields
// that p has for them, where those differ, and says how many that were: each gets its
// line anew, which is its last and counts. Call it before anything is put. Standard
// output and devices are left alone.
func (f *FileSink) Refit(ctx context.Context, p *Prepared) (int64, error) {
	if !f.regular || len(f.have) == 0 {
		return 0, nil
	}
	last, err := f.savedLines()
	if err != nil {
		return 0, err
	}
	w := sinkRefit{f: f, last: last, want: map[digest]string{}}
	err = p.Each(ctx, func(row RenderedRow) error {
		if f.Have(row.ID, row.Key) == None {
			return nil
		}
		return w.look(digestOf(row.ID), row.ID, string(row.Fields))
	})
	if err == nil {
		err = w.flush()
	}
	return w.n, err
}

func (f *FileSink) savedLines() (map[digest]savedLine, error) {
	last := make(map[digest]savedLine, len(f.have))
	err := f.eachLine(func(at int64, id digest, line []byte) error {
		ms, err := members(line, nil)
		s := savedLine{at: at}
		for _, m := range ms {
			if m.name == fieldsName {
				s.fields = digestOf(string(m.raw))
			}
		}
		last[id] = s
		return err
	})
	return last, err
}

// sinkRefit collects rows, and writes their lines with one more look through the file.
type sinkRefit struct {
	f     *FileSink
	last  map[digest]savedLine
	want  map[digest]string // fields
	bytes int
	n     int64
}

func (w *sinkRefit) look(id digest, row, fields string) error {
	now, err := lineFields(fields)
	if err != nil || digestOf(string(now)) == w.last[id].fields {
		return err
	}
	w.f.mu.Lock()
	w.f.note(row)
	w.f.mu.Unlock()
	w.want[id] = fields
	if w.bytes += len(fields); w.bytes < refitBytes {
		return nil
	}
	return w.flush()
}

func (w *sinkRefit) flush() error {
	if len(w.want) == 0 {
		return nil
	}
	var lines bytes.Buffer
	var n int64
	write := func() error {
		if err := w.f.append(lines.Bytes()); err != nil {
			return &SinkError{Path: w.f.path, Err: err}
		}
		w.n += n
		n = 0
		lines.Reset()
		return nil
	}
	err := w.f.eachLine(func(at int64, id digest, line []byte) error {
		fields, ok := w.want[id]
		if !ok || w.last[id].at != at {
			return nil
		}
		now, err := withFields(bytes.TrimSuffix(line, []byte{'\n'}), fields)
		if err != nil {
			return err
		}
		lines.Write(append(now, '\n'))
		if n++; lines.Len() < refitBytes {
			return nil
		}
		return write()
	})
	if err == nil && lines.Len() > 0 {
		err = write()
	}
	w.want, w.bytes = map[digest]string{}, 0
	return err
}
