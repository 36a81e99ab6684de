package cli

import (
	"context"

	"nightshift/limiter/gateway"
	"nightshift/scheduler"
	"nightshift/worker"
)

// tellWorker says what a worker counts, and when it is ready: Redis answers, and it
// takes rows.
func (b *backend) tellWorker(ctx context.Context, to *watched, w *worker.Worker) {
	to.collect(worker.NewCollector(w))
	to.readyWhen(func(ctx context.Context) (map[string]any, error) {
		s := w.Stats()
		return map[string]any{"in_flight": s.InFlight, "lanes": len(s.Lanes), "in_spool": s.Spooled}, b.redisAnswers(ctx)
	})
	to.leaveWith(ctx)
}

// tellScheduler says what the whole fleet counts, from the one that leads, and
// when this process is ready: Redis answers. One that stands by is.
func (b *backend) tellScheduler(ctx context.Context, to *watched, s *scheduler.Scheduler) {
	to.collect(b.fleetCollector(s))
	to.readyWhen(func(ctx context.Context) (map[string]any, error) {
		role := "standby"
		if s.Leads() {
			role = "leader"
		}
		return map[string]any{"role": role}, b.redisAnswers(ctx)
	})
	to.leaveWith(ctx)
}

// tellGateway says when calls can be admitted, as the gateway's own /readyz does.
func (b *backend) tellGateway(to *watched, g *gateway.Gateway) {
	to.readyWhen(func(ctx context.Context) (map[string]any, error) {
		local, err := g.Ready(ctx)
		if local == "" {
			return nil, err
		}
		return map[string]any{"local": local}, err
	})
}

func (b *backend) tellDashboard(ctx context.Context, to *watched) {
	to.readyWhen(func(ctx context.Context) (map[string]any, error) { return nil, b.redisAnswers(ctx) })
	to.leaveWith(ctx)
}

// fleetCollector tells what stands in the shared state, from the leader.
func (b *backend) fleetCollector(s *scheduler.Scheduler) *scheduler.FleetCollector {
	return &scheduler.FleetCollector{Control: s.Control, Leads: s.Leads}
}
