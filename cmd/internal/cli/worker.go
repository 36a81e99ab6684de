package cli

import (
	"context"

	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/scheduler"
	"nightshift/worker"
)

type workerOptions struct {
	*factory
	Concurrency int
	Logs        logFlags
}

func newWorkerCmd(f *factory) *cobra.Command {
	o := &workerOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Work the queues until told to stop; any number of them may run",
		Long: "Takes rows off the queues and calls Gemini under the fleet's shared limits. The first SIGTERM or Ctrl-C\n" +
			"lets calls in flight end; a second one stops at once, and those rows run again elsewhere.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWorker(cmd.Context(), o) },
	}
	cmd.Flags().IntVar(&o.Concurrency, "concurrency", 0, "calls in flight for each lane (default worker.concurrency)")
	o.Logs.add(cmd)
	return cmd
}

func runWorker(ctx context.Context, o *workerOptions) error {
	be, err := o.openService(ctx, "worker", o.Logs)
	if err != nil {
		return err
	}
	defer be.close()
	if o.Concurrency > 0 {
		be.conf.Worker.Concurrency = o.Concurrency
	}
	watched, err := be.watch("worker", be.conf.Worker.Metrics)
	if err != nil {
		return err
	}
	defer watched.close()
	e, err := be.newEngine(ctx, nil, watched.metrics(), jobs.Run{})
	if err != nil {
		return err
	}
	defer e.close(be.log)
	be.tellWorker(ctx, watched, e.worker)
	sweeper := &scheduler.Sweeper{Redis: be.rdb, Store: be.store, Owner: e.worker.Info().ID, Logger: be.log}
	go sweeper.Run(ctx)
	if be.conf.Gemini.API == "simulated" {
		be.log.Warn("the API is simulated by this process: every row of the queues gets a made-up answer; `nightshift gemini-sim` serves one API to a fleet")
	}
	if fleet, err := worker.Fleet(ctx, be.rdb); err == nil {
		self := worker.WorkerInfo{Project: be.conf.Gemini.Project, Limits: digest(be.conf.limiterConfig())}
		for _, text := range self.Disagree(be.living(fleet)) {
			be.log.Warn(text)
		}
	}
	be.started(ctx, "worker", "concurrency", be.conf.Worker.Concurrency, "metrics", watched.url)
	context.AfterFunc(ctx, func() {
		be.log.Info("worker stops when its calls in flight have ended; a second signal stops it at once", "at_most", be.conf.Worker.drainTime())
	})
	go be.watchLeader(ctx)
	err = e.worker.Run(ctx)
	st := e.worker.Stats()
	be.log.Info("worker has ended", "done", st.Done, "failed", st.Bad, "in_spool", st.Spooled)
	return err
}

// warnRedis says once at the start what would lose jobs later.
func warnRedis(ctx context.Context, be *backend) {
	for _, c := range redisSettings(ctx, be.rdb) {
		if c.Verdict == verdictBad {
			be.log.Warn("Redis may lose jobs", "setting", c.What, "is", c.Is, "remedy", c.Remedy)
		}
	}
}
