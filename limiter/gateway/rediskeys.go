package gateway

// Redis keys. Both hashes are by key hash and share a slot. A revocation is a
// field of its own, so that adding and revoking never write over each other.
const (
	redisKeys    = "nightshift:{gateway}:keys"    // hash of key → Identity as JSON
	redisRevoked = "nightshift:{gateway}:revoked" // hash of key → when, RFC 3339
)
