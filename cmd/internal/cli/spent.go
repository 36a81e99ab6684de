package cli

import (
	"context"
	"time"

	"nightshift/limiter/gemini"
)

// spent is what a stretch of time cost by the price book.
type spent struct {
	What     string `json:"what"`
	MicroUSD int64  `json:"micro_usd"`
	Calls    int64  `json:"calls"`
}

// spent adds up today and the last seven days from the hours that are kept.
func (b *backend) spent(ctx context.Context, now time.Time) ([]spent, error) {
	y, m, d := now.Local().Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, time.Local)
	samples, err := gemini.ReadMeter(ctx, b.rdb, b.conf.scope(), gemini.StepHour, today.AddDate(0, 0, -6), now)
	if err != nil {
		return nil, err
	}
	out := []spent{{What: "today"}, {What: "last seven days"}}
	for _, s := range samples {
		for i, from := range []time.Time{today, {}} {
			if !s.At.Before(from) {
				out[i].MicroUSD += s.MicroUSD
				out[i].Calls += s.Sent
			}
		}
	}
	return out, nil
}
