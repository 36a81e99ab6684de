package cli

import (
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
)

// eventMeans says what a decision means for those who wait, and what ends it.
var eventMeans = map[string]string{
	limiter.EventPause:    "Nothing of it starts; calls in flight end and are kept, and rows keep their places.",
	limiter.EventThrottle: "The class goes on with a part of each minute's limit.",
	limiter.EventBreaker:  "Calls would be in vain, so none is made; one looks now and then whether that still holds.",
	limiter.EventCooldown: "The provider asked for the rest; it ends by itself.",
	limiter.EventFeedback: "The provider refused what was admitted, so less is; it comes back by itself when it refuses no more.",
	limiter.EventProvider: "Jobs that fail so are tried again by themselves.",
	limiter.EventLimits:   "nightshift quota show says what holds now, and where it was set.",
	limiter.EventLease:    "One scheduler leads; the others stand by.",
}

func eventView(e limiter.Event) dashboard.EventView {
	return dashboard.EventView{At: e.Happened(), Level: eventLevel(e.Kind), Kind: e.Kind, Text: eventText(e, time.Local), By: e.By, Why: eventMeans[e.Kind]}
}
