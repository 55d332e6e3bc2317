import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Content, emptyHead, extend, faultAfter, faultOfEnd, type Link, verifyExport } from './chain.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 12 })

const content: fc.Arbitrary<Content> = fc.record({
  tenant: fc.uuid(),
  id: fc.uuid({ version: 7 }),
  time: fc.constant('2026-01-31T08:30:00.000Z'),
  action: text,
  outcome: fc.constantFrom('done', 'denied', 'failed'),
  principal: fc.option(fc.uuid()),
  principalName: text,
  principalKind: fc.constantFrom('user', 'gateway'),
  target: fc.option(text),
  requestId: fc.option(text),
  address: fc.option(fc.ipV4()),
  detail: fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
})

const chain = fc.array(content, { minLength: 1, maxLength: 12 }).map((contents) => extend(emptyHead, contents))

function firstFault(links: readonly Link[], head = links.at(-1)) {
  let last = emptyHead
  for (const link of links) {
    const fault = faultAfter(last, link)
    if (fault !== undefined) return fault
    last = { sequence: link.sequence, hash: link.hash }
  }
  return head === undefined ? undefined : faultOfEnd(last, head)
}

const lines = (links: readonly Link[]) => links.map((link) => JSON.stringify(link))

test('verifies an audit chain that was extended in one or several steps', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(content, { minLength: 2, maxLength: 12 }), fc.nat(), async (contents, cut) => {
      const whole = extend(emptyHead, contents)
      const first = extend(emptyHead, contents.slice(0, cut % contents.length))
      const second = extend(first.at(-1) ?? emptyHead, contents.slice(cut % contents.length))
      assert.deepEqual([...first, ...second], whole)
      assert.equal(firstFault(whole), undefined)
      const check = await verifyExport(lines(whole))
      const { sequence, hash } = whole.at(-1) ?? emptyHead
      assert.deepEqual(check, {
        intact: true,
        checked: whole.length,
        complete: true,
        head: { sequence, hash },
        firstFault: null,
      })
    }),
    { numRuns: 50 },
  )
})

test('reports the changed entry when any field of an audit chain changes', async () => {
  const fields = ['tenant', 'id', 'time', 'action', 'outcome', 'principal', 'principalName', 'principalKind'] as const
  const more = ['target', 'requestId', 'address', 'detail', 'hash'] as const
  await fc.assert(
    fc.asyncProperty(chain, fc.nat(), fc.constantFrom(...fields, ...more), async (links, place, field) => {
      const index = place % links.length
      const changed = links.with(index, { ...(links[index] as Link), [field]: 'f'.repeat(64) })
      assert.equal(firstFault(changed, links.at(-1))?.sequence, index + 1)
      const check = await verifyExport(lines(changed))
      assert.deepEqual([check.intact, check.firstFault?.sequence], [false, index + 1])
    }),
    { numRuns: 200 },
  )
})

test('detects deleted, duplicated and swapped entries of an audit chain', async () => {
  await fc.assert(
    fc.asyncProperty(chain, fc.nat(), async (links, place) => {
      const index = place % links.length
      assert.equal(firstFault(links.toSpliced(index, 1), links.at(-1))?.sequence, index + 1)
      const doubled = links.toSpliced(index, 0, links[index] as Link)
      assert.notEqual(firstFault(doubled), undefined)
      assert.equal((await verifyExport(lines(doubled))).intact, false)
      if (index === 0) return
      const swapped = links.with(index, links[index - 1] as Link).with(index - 1, links[index] as Link)
      assert.notEqual(firstFault(swapped), undefined)
      assert.equal((await verifyExport(lines(swapped))).intact, false)
    }),
    { numRuns: 100 },
  )
})

test('detects an audit chain that was rewritten up to its end, because it does not match the head', () => {
  fc.assert(
    fc.property(chain, fc.nat(), (links, place) => {
      const index = place % links.length
      const forged = links.map((link, at) => (at === index ? { ...link, action: `${link.action}!` } : link))
      const rewritten = extend(emptyHead, forged)
      assert.equal(firstFault(rewritten), undefined)
      assert.match(firstFault(rewritten, links.at(-1))?.detail ?? '', /head/)
    }),
    { numRuns: 50 },
  )
})

test('verifies each entry of a filtered audit export, and reports the export as incomplete', async () => {
  await fc.assert(
    fc.asyncProperty(chain, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), async (links, kept) => {
      const some = links.filter((_, index) => kept[index])
      const { intact, checked, complete } = await verifyExport(lines(some))
      const isPrefix = some.every((link, index) => link.sequence === index + 1)
      assert.deepEqual({ intact, checked, complete }, { intact: true, checked: some.length, complete: isPrefix })
    }),
    { numRuns: 100 },
  )
})

test('reports a fault for input that is not an audit export', async () => {
  for (const line of ['{', '42', 'null', '{}', '{"sequence":1,"hash":"x","previousHash":"y"}']) {
    const check = await verifyExport([line])
    assert.deepEqual([check.intact, check.firstFault?.sequence], [false, 1])
  }
  assert.deepEqual((await verifyExport(['', '  '])).checked, 0)
})
