// Package limiter decides who may call a provider, when, and on whose account.
// Processes that share a provider's project share one state in Redis; one script
// decides everything about a request, one settles it. The package knows nothing
// of providers, of HTTP or of jobs. Redis is what runs; Model is the same rules
// in plain Go on a clock that is given.
//
// # Why slots
//
// A provider's limit holds for a minute, and nobody outside knows how the
// provider counts it: by the clock's minutes, by a sliding one, or by a bucket. A
// token bucket on our side whose size is the limit is wrong for all of them:
// after an idle minute it lets the whole bucket through, and then the rate beside
// it, nearly twice the limit in one window. So a lane notes what was admitted in
// slots of 0.5 s, and an amount counts until its slot has left the window
// entirely. Slot n begins at n·0.5 s and leaves at
//
//	n·0.5 s + 61 s = (n + 122)·0.5 s
//
// 60 s are the window; half a second is the slot's own width, since what was
// admitted at its end must count a full minute too; and half a second is for the
// way to the server, so that calls which overtake each other still do not meet in
// one window there. Whatever the alignment, no window of 60 s holds more than
// the limit. The price is 1/61 of the throughput. Ten-minute windows have slots of
// 5 s (610 s), days are calendar days in California, months calendar months.
//
// Running sums make a decision's cost independent of the number of slots: the
// open slot is kept beside the sums, and once in each slot (roll) the open one is
// written to the ring and what is 122 slots old is taken out of the sums.
//
// # What a class may use
//
// Per limit, with classes from the highest down, a class of own use u may take
// what is left of
//
//	C = L − outside − Σ others max(protect, used) − margin
//
// L is the limit, outside the share that is left for calls which bypass the
// gate. protect is what a class above is expected to need,
//
//	protect = clamp(1.5·peak + 2·√peak, floor·L, guarantee·L)
//
// (the root for requests only), where peak is its largest use of late and halves
// every two minutes; of a class below it is its trickle. So lending goes down the
// classes only: bulk uses what interactive will not need, and gives it back within
// a window once interactive stirs. margin is 1.5·√Σ(spread·estimate)² over the
// calls that are open: what they may settle above their estimates, most likely.
//
// The floor is the configured one or, where a lane lends "auto", what somebody
// learned that the class needs at this hour (SetFloors), within 2 % and the
// guarantee. It holds until it is renewed or its time is over; then the assumed
// 10 % count again. Of a day's or month's limit there is no peak: protect is the
// floor, and of a day a learned one is what was used and will be until the reset.
// What is too large for good goes by the configured floors alone.
//
// Classes that are smoothed keep a pace: each admission moves the class's pace on
// by cost·61 s ÷ (1.1·C), and while the pace is more than half a second ahead of
// the clock nothing is admitted. Without it the first burst returns every 61 s for
// ever, and whoever comes new meets a full window.
//
// Of output tokens a class may have a floor of its own (an agent's long answers),
// and of every minute's and ten minutes' limit a cap: the most that it ever uses,
// however idle the rest is. A request larger than its class's cap is refused for
// good; a cap of less than one is one.
//
// # Pauses and throttles
//
// A pause closes a class, a run, or a queue (the tickets and requests of one lane
// and priority) until it ends or is lifted; while several hold the target is
// closed, and the one that holds longest is the answer. Acquire refuses with its
// end, or with half a minute where it has none (a job that waits: five to ten
// minutes, since a pull brings it as soon as the pause is over). A pull passes
// over leaves that are paused, and what they have booked keeps no newcomer of
// another leaf out. Calls that are under way end as they would.
//
// A throttle leaves a class the share p of what is inside a minute's or ten
// minutes' limit: beside the rule above it must hold that
//
//	u + cost ≤ p·(L − outside)
//
// and the pace of a smoothed class is that of the smaller C. p may follow a ramp:
// from before its beginning, to after its end, in a straight line between by
// Redis's clock. Of several throttles, and the cap, the smallest counts. A
// throttle holds back the class's trickle too. One call at a time passes any
// throttle above zero: a job that is larger than the share is slow, not stuck.
//
// While nothing is paused or throttled a decision reads one field for it.
//
// # Forced requests
//
// A forced request is charged whatever is left and whatever is closed: what is
// only observed, or was made elsewhere, counts as well. Permit.Over says what
// would have refused it. What it takes beyond a limit is a debt, as below; the
// pace of its class moves on by no more than a window. Too large stays too large.
//
// # Nodes
//
// A call belongs to a path (organization, tenant, team, key, run) and a feature, and
// each of these may have limits of its own, by name ("tenant/acme") or by the
// pattern of its kind ("tenant/*": each that has none of its own). Such a node is a
// ledger like a lane: the same slots, margin, shares and pace, kept once for all
// lanes of the scope. A permit is charged to the lane and to every node on its way,
// or to none of them; it names its nodes, so that its settlement corrects each in
// the slot of admission. Within an organization, tenant or team the classes lend at
// once (floor 2 %); what goes by a key, a feature or a run is of one kind, and
// nothing is held back there. Caps and throttles are a lane's.
//
// A limit in shadow is counted, and says what it would have refused; it refuses
// nothing.
//
// # Caps in money
//
// Money is held at what a call may cost at worst and settled by what it cost, so that
// many callers together never pass a limit. Money of a day or month is a cap: it has
// no part outside, and with SoftPPM a soft part. A pausable class is refused once
//
//	used by all + cost > soft part of the cap
//
// and the others go on to the cap itself; their permits say which caps they took past
// the soft part, so that a caller can go a cheaper way. What that keeps back stands in
// for the floors. A run's own cap has no soft part: nobody else would use it. The
// project is a node that every call goes by: its caps hold over all lanes. Of a cap of
// $50 with a soft part of 92 %, bulk is refused above $46, interactive at $50.
//
// # Settling
//
// A permit is charged at its estimate and corrected in the slot in which it was
// admitted. What was used above the estimate is charged even when nothing is
// left, a debt that the next admissions pay; a refund never exceeds what the slot
// holds and does not come back after its window has turned. A permit whose lease
// ended gives back what it held (concurrency), while its usage stays charged.
//
// # Tickets
//
// A refused job of a class with tickets is not told "no" but gets a place in the
// line of its leaf (tenant path, run and priority), and a countdown. The countdown
// is long on purpose, 2·ETA + 3 s: it only matters when nobody pulls. A pull,
// every 0.5 s by whichever process comes first, takes the leaf with the smallest
// virtual start max(F, V), and releases its head if that fits beside all that was
// released before; then V becomes the start and F = start + cost ÷ share, where
// cost is the job's largest part of any limit of the lane. A head that does not fit
// the lane ends the pass, so that room gathers for it and large jobs do not starve.
// A leaf whose own node has no room is passed over, with all that go by that node:
// the lane's room is for the others. A released job
// passes without waiting for its turn; if it does not come within 10 s its place
// is at the front again, and after a dozen times it is forgotten. A job that is new
// while others wait passes only if all that wait would fit too. A job that comes back by its own countdown is told a
// later time, except when nobody has pulled for five seconds: then it passes if
// it fits, and the next ones are spread at the pace that the room allows.
//
// Shares go level by level: those that wait under one organization share what it
// gets by weight, then its tenants, teams and keys, and under a key its runs, each
// with its priority's weight as a factor. So a tenant gets no more for having more
// runs. With tenants a (weight 2) and b (1), and two runs of b of which one is of
// high priority (4) and one of normal (2), the shares are 2/3, 1/3·4/6 = 2/9 and
// 1/9.
//
// # Waiting in place
//
// A caller with somebody before the screen is not sent away but asks again (Request.Wait),
// some twenty times a second at the front and twice behind it, until it has its
// permit or its time is over. Meanwhile what it asks for counts as used against the
// classes below, at the ledger whose rule is against it: at the lane, so that no bulk
// takes the room that comes free before it does; or at its own tenant, where others lose
// nothing. Of its own class nobody passes who comes after it, unless all that wait before
// would fit too; and a class that keeps a pace keeps its order.
//
// Those that wait go by the weights of their paths, level by level. At a level each node
// (a tenant, say) has a virtual time at which its turn begins: after its own last turn,
// and not before the newest turn that the level had; a turn lasts cost ÷ weight, as a
// ticket's does. The callers of a node come in the order in which they come among
// themselves, each one's turn after the other's, and of all nodes of the level the
// earliest turn is first. So with tenants a (weight 3) and b (1) of which many wait, a
// has three of four permits, however many keys b has. Turns are forgotten when nobody of
// the class waits.
//
// Nobody waits in vain: a caller whose refusal ends later than it waits is told when at
// once (Denied.Position is 0), unless it may end before that, since calls in flight end
// or settle below their estimates. Who dies is forgotten after two seconds. Of a class
// with tickets such a caller has a place in the line as a job has, and is let go by the
// same pulls.
//
// # Events
//
// What concerns a scope as a whole is noted in a stream of about the last 20,000
// events. Configure notes what it changed itself. A change that goes back to what
// another process changed within the last ten minutes is an alert: the two have
// different configurations, and whichever starts last decides.
//
// # Worked example
//
// One lane: 100 requests a minute, outside 5 %, classes interactive (guarantee
// 30 %) and bulk (smoothed, with tickets), lend now (floor 2 %). At 12:00:00.0
// interactive admits 10 calls: rpm has 10 used, and L − outside = 95.
//
// At 12:00:00.5 the next slot begins. Interactive's peak is 10, decayed by one
// slot of 240 (9.9375 in the sixteenths that are kept), so
// protect = 1.5·9.9375 + 2·√9.9375 = 21.2 → 21, within 2 and 30. Bulk may use
// C = 95 − max(21, 10) = 74. The pace of one request is 61 s ÷ (1.1·74) =
// 0.7493 s. Bulk asks for a permit and gets it: the pace, which may lag the clock
// by 0.5 s, was 12:00:00.0 and is now 12:00:00.749. At once it asks again: the
// pace is less than 0.5 s ahead, so it passes, and the pace, 61 s ÷ (1.1·74) later,
// is 12:00:01.498. A third request is refused by smoothing until the
// pace is no more than half a second ahead, at 12:00:00.999.
//
// The ten calls of interactive leave with their slot at 12:01:01.0, not before.
package limiter
