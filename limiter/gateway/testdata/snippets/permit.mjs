const { GATE_URL: gate, GATE_KEY, GEMINI_API_KEY } = process.env;
const gemini = process.env.GEMINI_URL ?? "https://generativelanguage.googleapis.com";

async function post(url, key, body) {
  const headers = { "content-type": "application/json", "x-goog-api-key": key };
  const r = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return [r.status, await r.json()];
}

export async function generate(model, request) {
  const [refused, permit] = await post(`${gate}/v1/permits`, GATE_KEY, { model, request, wait_ms: 30_000 });
  // No room within wait_ms: error.details has RetryInfo, as Gemini's own 429 has.
  if (refused !== 200) throw new Error(permit.error.message);
  let what = "settle", told = { status: 0 }; // sent, and no answer: it may have been counted
  try {
    const url = `${gemini}/v1beta/models/${permit.model}:generateContent`;
    const [status, answer] = await post(url, GEMINI_API_KEY, request);
    told = status >= 300 ? { status, error: answer } : { usageMetadata: answer.usageMetadata };
    return answer;
  } catch (e) {
    // Never sent: all is given back.
    if (["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(e.cause?.code)) [what, told] = ["release", {}];
    throw e;
  } finally {
    await post(`${gate}/v1/permits/${permit.id}/${what}`, GATE_KEY, told);
  }
}
