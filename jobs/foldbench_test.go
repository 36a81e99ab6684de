package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// words are what made-up answers are made of.
var words = strings.Fields(`the a of and with for in on to from by is are has was this that it its our your
linen cotton jacket trousers shirt coat lining pocket button sleeve collar hem seam stitch weave colour navy grey olive sand
light warm soft dry sturdy slim loose short long wide narrow washable recycled organic water repellent breathable
machine wash at thirty degrees do not bleach tumble iron cool steam fold hang store keep away direct sunlight
travel office weekend evening spring autumn winter summer rain wind city trail everyday gift set pair size fit
麻 綿 上着 春 秋 軽い 丈夫 洗える 防水 通勤 旅行 毎日 贈り物 寸法 色 紺 灰色 袖 襟 裏地 します です ます こと もの ため
la chemise en lin pour les soirées d'été avec une poche poitrine et des boutons en nacre coupe droite lavable`)

// realistic is a result as a run of product texts has it: some columns of input,
// an answer of two to ten sentences, usage and times.
func realistic(rng *rand.Rand, run string, i int64) Result {
	text := func(n int) string {
		s := make([]string, n)
		for k := range s {
			s[k] = words[rng.IntN(len(words))]
		}
		return strings.Join(s, " ")
	}
	fields, _ := json.Marshal(map[string]any{"id": fmt.Sprintf("sku-%06d", 100000+i), "title": text(6), "category": words[rng.IntN(40)], "price": rng.IntN(20000), "description": text(20 + rng.IntN(40))})
	out := int64(40 + rng.IntN(160))
	return Result{Row: fmt.Sprintf("sku-%06d", 100000+i), Run: run, Index: i, Status: "done", Output: text(int(out) * 3 / 4), Fields: fields,
		Model: "gemini-3.5-flash", Finish: "STOP", Usage: &Usage{Prompt: 120 + rng.Int64N(80), Output: out, Total: 300 + out},
		Attempts: 1, WaitedMS: rng.Int64N(3600_000), TookMS: 700 + rng.Int64N(2500), Key: fmt.Sprintf("%032x", rng.Uint64())}
}

// BenchmarkFold says what the results of 2,000 rows take in Redis, Redis's own
// overhead included: in fields of their own, folded, and after a trim.
func BenchmarkFold(b *testing.B) {
	const rows = 2000
	ctx := context.Background()
	for b.Loop() {
		rdb, rng := redisClient(b), rand.New(rand.NewPCG(1, 2))
		s, dir := NewStore(rdb, StoreOptions{}), b.TempDir()
		p := benchPrepare(b, benchFile(b, rows))
		rep, err := s.Enqueue(ctx, p, EnqueueOptions{})
		if err != nil {
			b.Fatal(err)
		}
		run := rep.Run.ID
		var lines int
		for i := range int64(rows) {
			r := realistic(rng, run, i)
			line, _ := r.Line()
			lines += len(line)
			if ok, err := s.Finish(ctx, Task{Run: run, Index: i}, r); err != nil || !ok {
				b.Fatal(ok, err)
			}
		}
		b.ReportMetric(float64(lines)/rows, "line-B/row")
		b.ReportMetric(resultMemory(b, rdb, run)/rows, "loose-B/row")
		if _, err := s.Fold(ctx, run); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(resultMemory(b, rdb, run)/rows, "folded-B/row")
		if err := drainAndTrim(ctx, s, run, dir); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(resultMemory(b, rdb, run)/rows, "trimmed-B/row")
	}
}

// resultMemory is what Redis says that a run's results take.
func resultMemory(b *testing.B, rdb redis.UniversalClient, run string) float64 {
	b.Helper()
	var sum int64
	for _, pattern := range []string{"res:*", "fold:*"} {
		for _, key := range rdb.Keys(context.Background(), runPrefix(run)+pattern).Val() {
			n, err := rdb.MemoryUsage(context.Background(), key, 0).Result()
			if err != nil {
				b.Fatal(err)
			}
			sum += n
		}
	}
	return float64(sum)
}
