package cli

import (
	"bufio"
	"io"

	"nightshift/jobs"
)

func (x *export) toJSONL(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<16)
	put := func(line []byte) error {
		x.n++
		if _, err := w.Write(line); err != nil {
			return err
		}
		return w.WriteByte('\n')
	}
	if x.join == nil {
		return firstError(x.lines(put), w.Flush())
	}
	err := x.joined(func(row string, lines map[string][]byte) error {
		line, err := x.join.Line(row, lines)
		if err != nil {
			return err
		}
		return put(line)
	})
	return firstError(err, w.Flush())
}

func (x *export) joined(fn func(row string, lines map[string][]byte) error) error {
	g := &jobs.Joined{Join: x.join}
	err := x.lines(func(line []byte) error { return g.Add(line, fn) })
	if err != nil {
		return err
	}
	return g.Flush(fn)
}

// toCSV reads the results twice: the columns are known when all have been seen.
func (x *export) toCSV(to io.Writer) error {
	w, err := jobs.NewCSVWriter(to, x.opts)
	if err != nil {
		return err
	}
	columns := jobs.ColumnsOf(x.spec, jobs.CSVOptions{Flatten: x.flatten, Join: x.join, KeepID: x.keepID})
	if err := x.lines(columns.See); err != nil {
		return err
	}
	if err := w.Header(columns.Header()); err != nil {
		return err
	}
	if x.join != nil {
		err = x.joined(func(row string, lines map[string][]byte) error {
			cells, err := columns.CellsJoined(lines)
			return x.put(w, row, cells, err)
		})
	} else {
		err = x.lines(func(line []byte) error {
			row, cells, err := columns.Cells(line)
			return x.put(w, row, cells, err)
		})
	}
	return firstError(err, w.Close())
}

func (x *export) put(w *jobs.CSVWriter, row string, cells []string, err error) error {
	if err != nil {
		return err
	}
	x.n++
	return w.Write(row, cells)
}
