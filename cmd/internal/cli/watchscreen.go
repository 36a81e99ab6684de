package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"nightshift/scheduler"
)

// watchScreen is the full screen of watch. Bubble Tea draws what has changed, and gives
// the terminal back however the program ends.
type watchScreen struct {
	every time.Duration
	look  func() (*overview, error)
	act   func(verb, target string) (said string, err error)

	width, height int
	seen          *overview // nil until the first look
	err           error     // of the last look
	chosen        string    // id of the run that keys are about
	asked         *watchAsk // what waits for y or n
	said          string    // what came of the last key
}

// watchAsk is an action that waits for yes or no.
type watchAsk struct{ verb, target, text string }

type (
	watchLooked struct {
		v   *overview
		err error
	}
	watchTick  struct{}
	watchActed struct {
		said string
		err  error
	}
)

// watchScreen shows the screen until q, ctrl-C or the context's end.
func (b *backend) watchScreen(ctx context.Context, s *streams, every time.Duration) error {
	if every < 100*time.Millisecond {
		return usageErrorf("--every %s: want at least 100ms", every)
	}
	m := watchScreen{every: every, width: 80, height: 24,
		look: func() (*overview, error) { return b.lookWithQueues(ctx, time.Now()) },
		act:  func(verb, target string) (string, error) { return b.actRecorded(ctx, verb, target) }}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(s.Out), tea.WithoutSignalHandler())
	_, err := p.Run()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// actRecorded does what a key asked for, and has it in the audit log.
func (b *backend) actRecorded(ctx context.Context, verb, name string) (string, error) {
	d := &deed{what: deeds[verb], target: name, asked: "a key in nightshift watch"}
	said, err := b.act(ctx, d, verb, name)
	d.said = said
	return said, firstError(err, b.recordDeed(ctx, d, err))
}

// act does it, as the command of that name does.
func (b *backend) act(ctx context.Context, d *deed, verb, name string) (said string, err error) {
	c := b.control()
	if verb == "cancel" {
		run, err := b.store.Load(ctx, name)
		if err != nil {
			return "", err
		}
		err = d.toRun(ctx, b, run, func() error {
			rep, err := b.store.Cancel(ctx, run.ID)
			said = run.Title() + ": " + cancelled(rep)
			return firstError(err, b.dropTickets(ctx, run))
		})
		return said, err
	}
	target, err := c.ParseTarget(ctx, name)
	if err != nil {
		return "", err
	}
	err = d.toTarget(ctx, b, target, time.Now(), func() error {
		if verb == "pause" {
			e, err := c.Pause(ctx, scheduler.PauseRequest{Target: target, Owner: operator()})
			said = pausedSentence(c.Describe(ctx, target), e, time.Time{}, time.Now(), false)
			return err
		}
		e, err := c.Resume(ctx, target, scheduler.ResumeRequest{By: operator()})
		said = resumedSentence(c.Describe(ctx, target), e, time.Now())
		return err
	})
	return said, err
}

// Init implements tea.Model.
func (m watchScreen) Init() tea.Cmd { return m.lookNow }

func (m watchScreen) lookNow() tea.Msg {
	v, err := m.look()
	return watchLooked{v, err}
}

// Update implements tea.Model. The next look begins only when the last has ended, so
// that a slow Redis is not asked faster than it answers.
func (m watchScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case watchLooked:
		m.err = msg.err
		if msg.err == nil {
			m.seen = msg.v
		}
		return m, tea.Tick(m.every, func(time.Time) tea.Msg { return watchTick{} })
	case watchTick:
		return m, m.lookNow
	case watchActed:
		m.said = msg.said
		if msg.err != nil {
			m.said = "not done: " + msg.err.Error()
		}
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m, nil
}

// View implements tea.Model.
func (m watchScreen) View() tea.View {
	v := tea.NewView(m.draw())
	v.AltScreen = true
	v.WindowTitle = "nightshift watch"
	return v
}

func (m watchScreen) key(key string) (tea.Model, tea.Cmd) {
	if a := m.asked; a != nil {
		m.asked, m.said = nil, "left as it was"
		if key != "y" && key != "Y" {
			return m, nil
		}
		m.said = a.verb + " …"
		return m, func() tea.Msg {
			said, err := m.act(a.verb, a.target)
			return watchActed{said, err}
		}
	}
	switch key {
	case "q", "ctrl+c", "esc":
		return m, tea.Quit
	case "down", "j":
		m.move(1)
	case "up", "k":
		m.move(-1)
	default:
		m.ask(key)
	}
	return m, nil
}

// move chooses another run.
func (m *watchScreen) move(by int) {
	runs := m.runs()
	if len(runs) == 0 {
		return
	}
	m.chosen = runs[min(max(m.at(runs)+by, 0), len(runs)-1)].ID
}

func (m watchScreen) runs() []runStatus {
	if m.seen == nil {
		return nil
	}
	return openFirst(m.seen.Runs)
}

// at is where the chosen run stands; without one the first is.
func (m watchScreen) at(runs []runStatus) int {
	return max(0, slices.IndexFunc(runs, func(r runStatus) bool { return r.ID == m.chosen }))
}

// ask asks before anything is done. The run is the one that stands there now, whatever
// the next look brings.
func (m *watchScreen) ask(key string) {
	m.said = ""
	verb := map[string]string{"p": "pause", "r": "resume", "c": "cancel", "b": "pause", "B": "resume"}[key]
	if verb == "" {
		return
	}
	target, name := "bulk", "all of bulk"
	if key != "b" && key != "B" {
		runs := m.runs()
		if len(runs) == 0 {
			m.err = errors.New("there is no run")
			return
		}
		r := runs[m.at(runs)]
		m.chosen, target, name = r.ID, r.ID, "run "+orElse(r.Name, r.ID)
		if r.counts.Open() == 0 {
			m.said = name + " has ended"
			return
		}
	}
	m.asked = &watchAsk{verb, target, fmt.Sprintf("%s %s?", verb, name)}
}
