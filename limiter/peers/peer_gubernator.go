package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gubernator-io/gubernator/v2"
	"github.com/mailgun/holster/v4/clock"
	"github.com/sirupsen/logrus"
)

// gubernatorPeer is a daemon in process, asked over gRPC on loopback as its users
// do. Its clock is frozen and turned on; it is one for the process, so one such
// peer lives at a time.
type gubernatorPeer struct {
	daemon    *gubernator.Daemon
	client    gubernator.V1Client
	algorithm gubernator.Algorithm
	limit     int64
	at        time.Time
}

func newGubernatorToken(perMinute int64) (peer, error) {
	return newGubernator(perMinute, gubernator.Algorithm_TOKEN_BUCKET)
}

func newGubernatorLeaky(perMinute int64) (peer, error) {
	return newGubernator(perMinute, gubernator.Algorithm_LEAKY_BUCKET)
}

func newGubernator(perMinute int64, a gubernator.Algorithm) (peer, error) {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	d, err := gubernator.SpawnDaemon(ctx, gubernator.DaemonConfig{
		GRPCListenAddress: "127.0.0.1:0", HTTPListenAddress: "127.0.0.1:0", Logger: quiet,
	})
	if err != nil {
		return nil, err
	}
	d.SetPeers([]gubernator.PeerInfo{{GRPCAddress: d.GRPCListeners[0].Addr().String(), IsOwner: true}})
	c, err := gubernator.DialV1Server(d.GRPCListeners[0].Addr().String(), nil)
	if err != nil {
		return nil, err
	}
	clock.Freeze(noon)
	return &gubernatorPeer{daemon: d, client: c, algorithm: a, limit: perMinute, at: noon}, nil
}

// take never says that a request is refused for good: the answer has a ResetTime.
func (p *gubernatorPeer) take(ctx context.Context, at time.Time, n int64) (grant, error) {
	if d := at.Sub(p.at); d > 0 {
		clock.Advance(d)
		p.at = at
	}
	r, err := p.client.GetRateLimits(ctx, &gubernator.GetRateLimitsReq{Requests: []*gubernator.RateLimitReq{{
		Name: "calls", UniqueKey: "key", Hits: n, Limit: p.limit, Duration: gubernator.Minute, Algorithm: p.algorithm,
	}}})
	if err != nil {
		return grant{}, err
	}
	if len(r.Responses) != 1 {
		return grant{}, fmt.Errorf("gubernator: %d answers", len(r.Responses))
	}
	if e := r.Responses[0].Error; e != "" {
		return grant{}, errors.New("gubernator: " + e)
	}
	return grant{ok: r.Responses[0].Status == gubernator.Status_UNDER_LIMIT, n: n}, nil
}

func (p *gubernatorPeer) correct(ctx context.Context, at time.Time, g grant, used int64) error {
	_, err := p.take(ctx, at, used-g.n)
	return err
}

func (p *gubernatorPeer) close() {
	clock.Unfreeze()
	p.daemon.Close()
}
