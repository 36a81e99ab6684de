package dashboard

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// graphOf reads a graph's line for a queue from /api/metrics.
func graphOf(t *testing.T, d *Dashboard, query, name, queue string) map[int64]float64 {
	t.Helper()
	w := ask(t, d, "GET", "/queues/api/metrics?"+query)
	want(t, w, http.StatusOK)
	var all map[string]struct {
		Status string
		Data   struct {
			ResultType string
			Result     []struct {
				Metric map[string]string
				Values [][2]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 9 || all[name].Status != "success" || all[name].Data.ResultType != "matrix" {
		t.Fatalf("answered %.300s", w.Body)
	}
	out := map[int64]float64{}
	for _, l := range all[name].Data.Result {
		if l.Metric["queue"] != queue {
			continue
		}
		for _, v := range l.Values {
			at, err1 := strconv.ParseInt(string(v[0]), 10, 64)
			text, err2 := strconv.Unquote(string(v[1]))
			f, err3 := strconv.ParseFloat(text, 64)
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatalf("value %s", v)
			}
			out[at] = f
		}
	}
	return out
}

// TestGraphs feeds known samples: 2 tasks a second, half of them failing, for
// twenty minutes.
func TestGraphs(t *testing.T) {
	t.Parallel()
	const end = 1_800_000_000
	d := newDashboard(t, Config{Redis: noRedis(t), Now: func() time.Time { return time.Unix(end, 0) }})
	for at := int64(end - 1200); at <= end; at += 10 {
		n := 2 * (at - end + 1200)
		for _, q := range []string{"a.x", "b.y"} {
			d.samples.add(q, sample{at: at * 1000, size: 7, pending: 3, retry: 4, latency: 1.5, memory: 2048, processed: n, failed: n / 2})
		}
	}
	for name, value := range map[string]float64{
		"queue_size": 7, "queue_latency_seconds": 1.5, "queue_memory_usage_approx_bytes": 2048, "pending_tasks_by_queue": 3, "retry_tasks_by_queue": 4,
		"archived_tasks_by_queue": 0, "tasks_processed_per_second": 2, "tasks_failed_per_second": 1, "error_rate": 0.5,
	} {
		got := graphOf(t, d, "duration=3600&endtime="+strconv.Itoa(end), name, "a.x")
		if len(got) < 120 || len(got) > 121 || got[end] != value {
			t.Errorf("%s: %d values, the last %v, want %v", name, len(got), got[end], value)
		}
		if _, early := got[end-1210]; early {
			t.Errorf("%s has a value from before the first sample", name)
		}
	}
	if got := graphOf(t, d, "queues=b.y,c", "queue_size", "a.x"); len(got) != 0 {
		t.Error("a queue that was not asked for is there")
	}
	if got := graphOf(t, d, "duration=60&endtime="+strconv.Itoa(end+299), "queue_size", "a.x"); len(got) == 0 {
		t.Error("a value ends at once")
	}
	if got := graphOf(t, d, "duration=60&endtime="+strconv.Itoa(end+400), "queue_size", "a.x"); len(got) != 0 {
		t.Error("a value lasts longer than five minutes")
	}
}

// TestNoRates: a counter that starts again, or a queue without tasks, makes a
// gap and no peak.
func TestNoRates(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Redis: noRedis(t), Now: func() time.Time { return time.Unix(1000, 0) }})
	for i, n := range []int64{500, 500, 500, 20} {
		d.samples.add("q", sample{at: 1_000_000 - 30_000 + int64(i)*10_000, processed: n, failed: n})
	}
	if got := graphOf(t, d, "duration=60", "tasks_processed_per_second", "q"); got[990] != 0 || len(got) != 2 {
		t.Errorf("rates %v", got)
	}
	if got := graphOf(t, d, "duration=60", "error_rate", "q"); len(got) != 0 {
		t.Errorf("error rates %v", got)
	}
}

// TestADay: memory is bounded, recent samples are close together and yesterday's
// a minute apart.
func TestADay(t *testing.T) {
	t.Parallel()
	s := newSamples()
	const day = 26 * 3600
	for at := int64(0); at <= day; at += 10 {
		s.add("q", sample{at: at * 1000, size: at})
	}
	q := s.queues["q"]
	if len(q.fine) > fineSamples*5/4 || len(q.coarse) > coarseKept*5/4 || cap(q.fine) > 2*fineSamples || cap(q.coarse) > 2*coarseKept {
		t.Errorf("%d and %d samples are kept, room for %d and %d", len(q.fine), len(q.coarse), cap(q.fine), cap(q.coarse))
	}
	list := s.from("q", (day-24*3600)*1000)
	if first := list[0].at / 1000; first > day-23*3600 {
		t.Errorf("the oldest is from %d s before the end", day-first)
	}
	for i := 1; i < len(list); i++ {
		if gap := list[i].at - list[i-1].at; gap > 60_000 || gap <= 0 {
			t.Fatalf("%d ms between samples %d and %d", gap, i-1, i)
		}
	}
	if recent := s.from("q", (day-3600)*1000); recent[1].at-recent[0].at != 10_000 {
		t.Error("the last hour is not fine")
	}
	s.add("q", sample{at: 5})
	if last := s.from("q", day*1000); last[len(last)-1].at != day*1000 {
		t.Error("a clock that was set back undid the order")
	}
}

func TestManyQueues(t *testing.T) {
	t.Parallel()
	s := newSamples()
	for i := range 2 * maxQueues {
		s.add(strconv.Itoa(i), sample{at: 1000})
	}
	if n := len(s.names()); n != maxQueues {
		t.Errorf("%d queues are kept", n)
	}
	s.add("late", sample{at: 25 * 3600 * 1000})
	if s.from("late", 0) == nil || len(s.names()) != maxQueues {
		t.Error("a queue that is gone makes no room")
	}
}

func TestMetricsQuery(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_007, 0)
	for _, bad := range []string{"duration=x", "duration=0", "duration=-1", "duration=1e30", "endtime=NaN", "duration=999999999"} {
		v, _ := url.ParseQuery(bad)
		if q, err := parseMetricsQuery(v, now); err == nil {
			t.Errorf("%s is %+v", bad, q)
		}
	}
	for _, seconds := range []int64{1, 3600, 86400, 30 * 86400} {
		q, err := parseMetricsQuery(url.Values{"duration": {strconv.FormatInt(seconds, 10)}, "endtime": {"1800000007.5"}}, now)
		if err != nil {
			t.Fatal(err)
		}
		if n := q.to.Sub(q.from) / q.step; n > maxPoints+1 || q.from.Unix()%int64(q.step.Seconds()) != 0 {
			t.Errorf("%d s: %d points from %v each %v", seconds, n, q.from, q.step)
		}
	}
}

// TestRunSamples in virtual time, and ends with its context.
func TestRunSamples(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := miniredis.NewMiniRedis()
		rdb := redis.NewClient(&redis.Options{
			Dialer:          func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
			DisableIdentity: true, ConnMaxIdleTime: -1,
			// The client would look its server's name up, and the resolver's channels
			// stay in the bubble that first used it.
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		defer m.Close()
		defer rdb.Close()
		if _, err := asynq.NewClientFromRedisClient(rdb).Enqueue(asynq.NewTask("x", nil), asynq.Queue("q")); err != nil {
			t.Fatal(err)
		}
		d := newDashboard(t, Config{Redis: rdb})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer cancel()
		if err := d.Run(ctx); err != nil {
			t.Error(err)
		}
		list := d.samples.from("q", 0)
		if len(list) != 7 || list[6].pending != 1 || list[6].at-list[0].at != 60_000 {
			t.Errorf("samples %+v", list)
		}
	})
}
