package cli

import (
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// eventMeans says of each kind what it means for those who wait, what ends it, and
// which command does or shows more.
var eventMeans = map[string]string{
	limiter.EventPause:       "Nothing of it starts; calls in flight end and are kept, and rows keep their places. It ends with its reason, or by nightshift resume.",
	limiter.EventResume:      "What waited goes on in its old order, some at once and the rest as the limits have room; nightshift status says until when.",
	limiter.EventThrottle:    "The class goes on with a part of each minute's limit, until callers are well; nightshift health show says by what that is judged.",
	limiter.EventHealth:      "How callers fare decides what bulk may have: this changed it; nightshift health show says by what.",
	limiter.EventBreaker:     "Calls would be in vain, so none is made; one looks now and then whether that still holds, and opens it again. nightshift resume has it looked at now.",
	limiter.EventCooldown:    "The provider asked for the rest; it ends by itself.",
	limiter.EventFeedback:    "The provider refused what was admitted, so less is; it comes back by itself when it refuses no more. nightshift quota show has both figures.",
	limiter.EventProvider:    "Jobs that fail so are tried again by themselves, until their attempts are used up; nightshift errors has what the provider said.",
	limiter.EventLimits:      "All processes go by it within seconds; nightshift quota show says what holds now, and where it was set.",
	limiter.EventLease:       "One scheduler leads; the others stand by, and one of them goes on where it stops.",
	limiter.EventKeys:        "It holds at once, for every gateway; nightshift keys list shows the keys there are.",
	limiter.EventAlert:       "Somebody should look; nightshift alerts says whether it still holds, and what helps.",
	scheduler.EventRecovered: "The alert's cause is gone: nothing is left to do.",
	scheduler.EventRun:       "Its rows keep what they have; nightshift status RUN says where it stands.",
	gemini.EventRamp:         "So many of its callers get the new way, the others the old one; nightshift ramp show says how both fare, and nightshift ramp rollback takes it back.",
}

func eventView(e limiter.Event) dashboard.EventView {
	return dashboard.EventView{At: e.Happened(), Level: eventLevel(e.Kind), Kind: e.Kind, Text: eventText(e, time.Local), By: e.By, Why: eventMeans[e.Kind]}
}
