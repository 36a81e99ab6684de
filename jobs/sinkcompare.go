package jobs

import "context"

// SinkDifference is how what a results file held when it was opened differs
// from an input.
type SinkDifference struct {
	Missing int64 // rows of the input that the file has no good result for
	Changed int64 // of Missing: it has a good one that was made from something else
	Others  int64 // rows of the file that the input has not
}

// Compare reads the input once more, unless the file held nothing.
func (f *FileSink) Compare(ctx context.Context, p *Prepared) (SinkDifference, error) {
	d := SinkDifference{Others: int64(len(f.have))}
	if d.Others == 0 {
		return SinkDifference{Missing: p.Rows}, nil
	}
	err := p.Each(ctx, func(row RenderedRow) error {
		was, ok := f.have[row.ID]
		if ok {
			d.Others--
		}
		if f.Have(row.ID, row.Key) == None {
			d.Missing++
			if was.state.Good() {
				d.Changed++
			}
		}
		return nil
	})
	return d, err
}
