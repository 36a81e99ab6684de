// The tasks of the client matrix, done with @google/genai as people use it.
// CLIENT_PLAN says what to ask and where; each task prints one JSON line.
import { once } from 'node:events'
import { ApiError, GoogleGenAI } from '@google/genai'

const plan = JSON.parse(process.env.CLIENT_PLAN)
const ai = (baseUrl, apiKey = plan.key, more = {}) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl }, ...more })
const client = ai(plan.base)

process.stdin.resume()
const print = (line) => process.stdout.write(JSON.stringify(line) + '\n')

// plain is an answer without what the SDK adds of the HTTP response.
function plain(response) {
  const { sdkHttpResponse, ...rest } = JSON.parse(JSON.stringify(response))
  return rest
}

const tokens = ({ promptTokenCount, candidatesTokenCount, thoughtsTokenCount, totalTokenCount }) =>
  ({ prompt: promptTokenCount, output: candidatesTokenCount, thoughts: thoughtsTokenCount ?? 0, total: totalTokenCount })

async function unary(to) {
  const r = await to.models.generateContent({ model: plan.model, contents: plan.prompts.unary })
  return { sum: { text: r.text, finish: r.candidates[0].finishReason, ...tokens(r.usageMetadata) }, seen: plain(r) }
}

// chat goes on from a turn with an image, with all that a chat usually sets.
async function chat() {
  const history = [
    { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: plan.image } }, { text: plan.prompts.turn }] },
    { role: 'model', parts: [{ text: plan.prompts.said }] },
  ]
  const config = {
    systemInstruction: plan.prompts.system, temperature: 0.2, topP: 0.9, maxOutputTokens: 300, stopSequences: ['THE END'],
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    thinkingConfig: { thinkingBudget: 16, includeThoughts: true }, httpOptions: { timeout: 60000 },
  }
  const r = await client.chats.create({ model: plan.model, history, config }).sendMessage({ message: plan.prompts.chat })
  return { sum: { text: r.text, finish: r.candidates[0].finishReason, ...tokens(r.usageMetadata) }, seen: plain(r) }
}

async function stream(task, model) {
  let text = '', last
  const seen = []
  for await (const chunk of await client.models.generateContentStream({ model, contents: plan.prompts[task] })) {
    text += chunk.text ?? ''
    last = chunk
    seen.push(plain(chunk))
    print({ task, chunk: seen.length })
  }
  return { sum: { text, chunks: seen.length, finish: last.candidates[0].finishReason, ...tokens(last.usageMetadata) }, seen }
}

// broken reads a stream that does not end well.
async function broken(task, model) {
  let text = '', end = ''
  try {
    for await (const chunk of await client.models.generateContentStream({ model, contents: plan.prompts[task] })) text += chunk.text ?? ''
  } catch (e) {
    end = `${e.name}: ${e.message}`
  }
  return { sum: { text }, seen: end }
}

async function abort() {
  const stop = new AbortController()
  const chunks = await client.models.generateContentStream({
    model: plan.long, contents: plan.prompts.abort, config: { abortSignal: stop.signal },
  })
  let first
  try {
    for await (const chunk of chunks) {
      first ??= chunk.text
      stop.abort()
    }
  } catch (e) {
    return { sum: { first, aborted: e.name === 'AbortError' }, seen: { name: e.name } }
  }
  return { sum: { first, aborted: false } }
}

async function embed(texts) {
  const r = await client.models.embedContent({
    model: plan.embedding, contents: texts, config: { outputDimensionality: 8, taskType: 'RETRIEVAL_DOCUMENT' },
  })
  return { sum: { vectors: r.embeddings.map((e) => e.values) }, seen: plain(r) }
}

async function count() {
  const r = await client.models.countTokens({ model: plan.model, contents: plan.prompts.count })
  return { sum: { total: r.totalTokens }, seen: plain(r) }
}

async function list() {
  const models = []
  for await (const m of await client.models.list()) models.push(plain(m))
  return { sum: { models: models.map((m) => m.name) }, seen: models }
}

async function get() {
  const m = await client.models.get({ model: plan.model })
  return { sum: { name: m.name, input: m.inputTokenLimit, output: m.outputTokenLimit }, seen: plain(m) }
}

// call lets the model call a function, and tells it what came of it.
async function call() {
  const config = { tools: [{ functionDeclarations: [{ ...plan.function, parameters: undefined, parametersJsonSchema: plan.function.parameters }] }] }
  const contents = [{ role: 'user', parts: [{ text: plan.prompts.call }] }]
  const r = await client.models.generateContent({ model: plan.model, contents, config })
  const { name, args } = r.functionCalls[0]
  contents.push(r.candidates[0].content, { role: 'user', parts: [{ functionResponse: { name, response: { ok: true } } }] })
  const then = await client.models.generateContent({ model: plan.model, contents, config })
  return { sum: { name, args, finish: r.candidates[0].finishReason, then: then.text }, seen: [plain(r), plain(then)] }
}

async function schema() {
  const r = await client.models.generateContent({
    model: plan.model, contents: plan.prompts.schema,
    config: { responseMimeType: 'application/json', responseJsonSchema: plan.schema },
  })
  return { sum: { value: JSON.parse(r.text) }, seen: plain(r) }
}

// refused is an error as the SDK throws it. The answer's body is its message,
// and the hint is in there.
async function refused(ask) {
  try {
    await ask()
  } catch (e) {
    if (!(e instanceof ApiError)) throw e
    const { error } = JSON.parse(e.message)
    const hint = error.details?.find((d) => d['@type']?.endsWith('RetryInfo'))?.retryDelay
    const words = { type: e.name, code: e.status, status: error.status, hint, message: error.message }
    return { sum: { code: e.status, hint }, seen: { name: e.name, status: e.status, message: e.message }, words }
  }
  return { sum: { error: 'it was not refused' } }
}

const ask = (model, task) => client.models.generateContent({ model, contents: plan.prompts[task] })

const tasks = {
  unary: () => unary(client),
  slash: () => unary(ai(plan.base + '/')),
  v1: () => unary(ai(plan.base, plan.key, { apiVersion: 'v1' })),
  chat,
  stream: () => stream('stream', plan.model),
  slow: () => stream('slow', plan.model),
  flush: () => stream('flush', plan.stepped),
  midway: () => broken('midway', plan.midway),
  cut: () => broken('cut', plan.cut),
  abort,
  embed: () => embed([plan.prompts.embed]),
  embeds: () => embed([plan.prompts.embed, plan.prompts.unary]),
  count, list, get, call, schema,
  refused: () => refused(() => ask(plan.refused, 'refused')),
  broken: () => refused(() => ask(plan.broken, 'broken')),
  quota: () => refused(async () => { for (let i = 0; i < 2; i++) await ask(plan.limited, 'quota') }),
  quotastream: () => refused(() => stream('quotastream', plan.limited)),
  badkey: () => refused(() => unary(ai(plan.base, plan.badkey))),
  doubled: () => refused(() => unary(ai(plan.base + '/v1beta'))),
  unserved: () => refused(() => client.files.list()),
}

for (const task of plan.tasks.filter((name) => tasks[name])) {
  try {
    print({ task, ...await tasks[task]() })
    if (task === 'abort') await once(process.stdin, 'end') // the test looks at what the abort did before this process goes on
  } catch (e) {
    print({ task, sum: { error: `${e.name}: ${e.message}` } })
  }
}
