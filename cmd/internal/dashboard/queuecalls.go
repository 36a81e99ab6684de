package dashboard

import (
	"net/http"
	"strings"
)

// queueCall is what a call to asynqmon's API that changes something would do.
type queueCall struct {
	Verb  string // pause, resume, run, delete, archive, cancel, …; delete_all and such for many tasks
	Queue string
	List  string // active_tasks, pending_tasks, …; "" for the queue itself
	Task  string // "" for a list or a queue
}

// what is the call's word in the audit log.
func (a queueCall) what() string {
	if a.List != "" {
		return a.Verb + " task"
	}
	return a.Verb
}

// target is what it is done to, in the audit log.
func (a queueCall) target() string {
	switch {
	case a.Task != "":
		return "task " + cut(a.Task, 100) + " of " + cut(a.Queue, 100)
	case a.List != "":
		return a.List + " of " + cut(a.Queue, 100)
	}
	return "queue " + cut(a.Queue, 100)
}

// parseQueueCall reads the path below asynqmon's /api: the shapes that its router
// has (handler.go). Anything else is not an action.
func parseQueueCall(method, path string) (queueCall, bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) < 2 || parts[0] != "queues" || method != http.MethodPost && method != http.MethodDelete {
		return queueCall{}, false
	}
	parts = parts[1:]
	verb := ""
	if last := len(parts) - 1; method == http.MethodPost || strings.HasSuffix(parts[last], ":delete_all") {
		i := strings.LastIndexByte(parts[last], ':')
		if i < 0 {
			return queueCall{}, false
		}
		parts[last], verb = parts[last][:i], parts[last][i+1:]
	} else {
		verb = "delete"
	}
	if len(parts) > 3 && parts[1] == "groups" {
		parts = append(parts[:1:1], parts[3:]...)
	}
	a := queueCall{Verb: verb, Queue: parts[0]}
	switch len(parts) {
	case 1:
	case 2:
		a.List = parts[1]
	case 3:
		a.List, a.Task = parts[1], parts[2]
	default:
		return queueCall{}, false
	}
	return a, a.Queue != ""
}

// refusal says why an action is not taken although writing is allowed, and
// what to do instead; "" lets it through. Our rows live in the ledger, not in
// asynq's lists, and the sweep makes both agree again: what is deleted or
// archived by hand comes back, so that such a button would only confuse, and
// asynq's own archive drops all but its latest 9,999 tasks. What is left is
// what does good: pause and resume, another look at one task now, and clearing
// away one that has ended.
func (a queueCall) refusal() string {
	switch {
	case a.List == "" && (a.Verb == "pause" || a.Verb == "resume"):
		return ""
	case a.List == "" && a.Verb == "delete":
		return "A queue is made and removed with its lane. To remove a run's rows: nightshift purge RUN"
	case a.Task != "" && a.Verb == "run" && runnable(a.List):
		return ""
	case a.Task != "" && a.Verb == "delete" && (a.List == "archived_tasks" || a.List == "completed_tasks"):
		return ""
	}
	return a.instead()
}

func runnable(list string) bool {
	return list == "retry_tasks" || list == "scheduled_tasks" || list == "archived_tasks"
}

// instead is the refusal's text by verb.
func (a queueCall) instead() string {
	switch {
	case strings.Contains(a.Verb, "archive"):
		return "Archiving loses jobs: asynq keeps 9,999 archived tasks and forgets the others. To hold rows back: nightshift pause RUN. To end them: nightshift cancel RUN"
	case strings.Contains(a.Verb, "cancel"):
		return "A cancelled call is still paid for and its row would run again. To stop a run: nightshift cancel RUN"
	case strings.Contains(a.Verb, "delete"):
		return "The row is still open in its run, so its task would come back within a minute. To end open rows: nightshift cancel RUN. To remove a run: nightshift purge RUN"
	case strings.Contains(a.Verb, "run"):
		return "Rows come by themselves as soon as there is quota for them; running many at once would only send them to the back of the line. To try failed rows again: nightshift retry RUN"
	}
	return "This is not possible here."
}
