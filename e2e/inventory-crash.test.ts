import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { killEverything } from './crash.ts'
import { type Caller, callerOf, startPlatform, temporaryFolder, until } from './platform.ts'

const home = temporaryFolder()
after(() => home[Symbol.dispose]())

/** The number of times that the test kills all processes. More rounds find more faults. */
const rounds = Number(process.env.MILLWRIGHT_CRASHES ?? 1)
const writers = 6
const answersBeforeTheCrash = 120

type Writer = {
  /** The asset that only this writer changes. */
  assetId: string
  sent: number
  /** The status ids of the accepted writes, by the number of the write. */
  accepted: Map<number, string>
}

test('applies every accepted write once and in order when platform and database are killed repeatedly', async () => {
  let platform = await startPlatform({ home: home.path })
  try {
    const first = await callerOf(platform)
    const all = await Promise.all(Array.from({ length: writers }, (_, index) => newWriter(first, index)))
    for (let round = 1; round <= rounds; round++) {
      const before = acceptedBy(all)
      const storm = startStorm(await callerOf(platform), all)
      await until('enough is accepted', () => acceptedBy(all) - before >= answersBeforeTheCrash)
      await killEverything(platform, home.path)
      await storm
      platform = await startPlatform({ home: home.path })
    }
    const caller = await callerOf(platform)
    for (const [index, writer] of all.entries()) {
      for (const statusId of writer.accepted.values()) await requireFinished(caller, statusId)
      await requireInOrder(caller, writer)
      await requireOnce(caller, { writer, index })
    }
  } finally {
    await platform[Symbol.asyncDispose]()
  }
})

async function newWriter(caller: Caller, index: number): Promise<Writer> {
  const { data } = await caller.inventory.createAsset({ body: { data: { asset: newAsset(`writer-${index}`) } } })
  const result = (await requireFinished(caller, data.statusId)) as { assetId: string }
  return { assetId: result.assetId, sent: 0, accepted: new Map() }
}

function newAsset(name: string) {
  const asset_identifiers = [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name }]
  return { functional_object_type: 'Asset', name, asset_identifiers }
}

function acceptedBy(all: readonly Writer[]): number {
  return all.reduce((sum, { accepted }) => sum + accepted.size, 0)
}

/**
 * Each writer sends one write after the other, alternating between a change of its asset and a new asset, until the
 * platform stops responding.
 */
async function startStorm(caller: Caller, all: readonly Writer[]): Promise<void> {
  await Promise.all(
    all.map(async (writer, index) => {
      for (;;) {
        const number = writer.sent++
        try {
          writer.accepted.set(number, await send(caller, { writer, index, number }))
        } catch (error) {
          // A broken connection or an unavailable database is expected. Every other refusal is a fault.
          if (error instanceof TypeError || (error as { status?: number }).status === 503) return
          throw error
        }
      }
    }),
  )
}

async function send(caller: Caller, sent: { writer: Writer; index: number; number: number }): Promise<string> {
  const { writer, index, number } = sent
  if (number % 2 === 1) {
    const { data } = await caller.inventory.createAsset({
      body: { data: { asset: newAsset(`storm-${index}-${number}`) } },
    })
    return data.statusId
  }
  const { data } = await caller.inventory.setResponsible({
    params: { id: writer.assetId },
    body: { data: { responsible: `number ${number}` } },
  })
  return data.statusId
}

async function requireFinished(caller: Caller, id: string): Promise<unknown> {
  const read = async () => (await caller.inventory.readStatus({ params: { id }, query: { wait: 30 } })).data
  let operation = await read()
  // Writes whose applier was killed wait until their lease has expired.
  await until('accepted writes are applied', async () => {
    if (operation.state === 'queued') operation = await read()
    return operation.state !== 'queued'
  })
  const { state, detail } = operation
  assert.equal(state, 'finished', `accepted, but ${state}: ${JSON.stringify(detail)}`)
  return detail.result
}

/** Checks that the history of the asset contains the accepted changes, each once, in order. */
async function requireInOrder(caller: Caller, { assetId, accepted, sent }: Writer): Promise<void> {
  const applied: number[] = []
  for (let offset = 0; ; offset += 100) {
    const { data } = await caller.inventory.readHistory({ params: { id: assetId }, query: { limit: 100, offset } })
    applied.push(...data.flatMap(({ after: document }) => numberIn(String(document?.responsible))))
    if (data.length < 100) break
  }
  applied.reverse()
  assert.deepEqual(
    applied,
    applied.toSorted((one, other) => one - other),
    'in another order',
  )
  assert.equal(new Set(applied).size, applied.length, 'applied twice')
  const lost = [...accepted.keys()].filter((number) => number % 2 === 0 && !applied.includes(number))
  assert.deepEqual(lost, [], 'accepted, but lost')
  const unanswered = applied.filter((number) => !accepted.has(number))
  assert.ok(unanswered.length <= rounds && unanswered.every((number) => number < sent), 'more than was ever sent')
}

function numberIn(responsible: string): number[] {
  const [, number] = /^number (\d+)$/.exec(responsible) ?? []
  return number === undefined ? [] : [Number(number)]
}

/** Checks that every accepted new asset exists once. */
async function requireOnce(caller: Caller, { writer, index }: { writer: Writer; index: number }): Promise<void> {
  const made: string[] = []
  for (let cursor: string | undefined; ; ) {
    const from = cursor === undefined ? {} : { cursor }
    const query = { filter: `startswith(name,'storm-${index}-')`, sort: 'name', limit: 100, ...from }
    const { data, meta } = await caller.inventory.listAssets({ query })
    made.push(...data.map(({ name }) => String(name)))
    cursor = meta.nextCursor
    if (cursor === undefined) break
  }
  assert.equal(new Set(made).size, made.length, 'made twice')
  const acceptedIds = [...writer.accepted.keys()]
    .filter((number) => number % 2 === 1)
    .map((number) => `storm-${index}-${number}`)
  assert.deepEqual(
    acceptedIds.filter((name) => !made.includes(name)),
    [],
    'accepted, but lost',
  )
  assert.ok(made.length - acceptedIds.length <= rounds, 'more than was ever sent')
}
