import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { tooLong } from './compile.ts'
import { requireUsableSchema, UploadedSchema } from './validator.ts'

const tenantId = 'tenant'

/** Returns the processor time of this thread, in milliseconds. The time of the worker process does not count. */
async function cpuOf<Result>(work: () => Result | Promise<Result>): Promise<{ result: Result; milliseconds: number }> {
  const before = process.threadCpuUsage()
  const result = await work()
  const { user, system } = process.threadCpuUsage(before)
  return { result, milliseconds: (user + system) / 1000 }
}

test(
  'validates in the worker when long lists in the schema make a short value expensive to validate',
  onlyInLongRuns,
  async () => {
    // The first use starts the worker, so that later measurements do not include its start.
    await requireUsableSchema(tenantId, {}, { trial: {} })
    const names = Array.from({ length: 4_000 }, (_, index) => `n${index}`)
    const cases: [object, unknown][] = [
      [{ items: { required: names } }, Array(400).fill({})],
      [
        { items: { allOf: Array(20).fill({ $ref: '#/$defs/names' }) }, $defs: { names: { required: names } } },
        [{}, {}, {}],
      ],
      [{ items: { dependentRequired: { a: names } } }, Array(400).fill({ a: 1 })],
    ]
    for (const [schema, value] of cases) {
      const uploaded = new UploadedSchema({ tenantId, schema: schema as Record<string, unknown> })
      const { result, milliseconds } = await cpuOf(() => uploaded.errorsOf([value]))
      assert.ok((result[0]?.length ?? 0) > 0)
      assert.ok(milliseconds < 400, `${milliseconds} ms on the event loop: ${JSON.stringify(schema).slice(0, 40)}`)
    }
  },
)

test('does not parse the large patterns of a schema on the event loop', async () => {
  const pattern = (index: number) => `[^${String.fromCharCode(97 + index)}]`.repeat(510)
  const properties = Object.fromEntries(
    Array.from({ length: 15 }, (_, index) => [`p${index}`, { pattern: pattern(index) }]),
  )
  const { result, milliseconds } = await cpuOf(() => new UploadedSchema({ tenantId, schema: { properties } }))
  assert.ok(milliseconds < 300, `${milliseconds} ms`)
  const [errors = []] = await result.errorsOf([{ p0: 'a' }])
  assert.deepEqual(
    errors.map(({ keyword, instancePath }) => [keyword, instancePath]),
    [['pattern', '/p0']],
  )
  assert.ok(!errors.some(({ keyword }) => keyword === tooLong))
})

test('validates the next request after a validation that runs out of memory', async () => {
  const names = Array.from({ length: 4_000 }, (_, index) => `n${index}`)
  const schema = { $defs: { names: { required: names } }, items: { allOf: Array(50).fill({ $ref: '#/$defs/names' }) } }
  const greedy = new UploadedSchema({ tenantId, schema })
  for (let attempt = 0; attempt < 3; attempt++)
    assert.ok(((await greedy.errorsOf([Array(2_000).fill({})]))[0]?.length ?? 0) > 0)
  await requireUsableSchema(tenantId, {}, { trial: {} })
})

test('repeats a validation whose worker was killed, instead of refusing the value', async (t) => {
  const children = `/proc/${process.pid}/task/${process.pid}/children`
  if (!existsSync(children)) return t.skip('this system does not list child processes')
  const schema = { items: { type: 'string' }, uniqueItems: true }
  const uploaded = new UploadedSchema({ tenantId, schema })
  assert.deepEqual(await uploaded.errorsOf([['a', 'b']]), [[]])
  const before = new Set(workersIn(children))
  assert.equal(before.size, 1)
  for (const pid of before) process.kill(pid, 'SIGKILL')
  assert.deepEqual(await uploaded.errorsOf([['a', 'b']]), [[]])
  assert.ok(workersIn(children).every((pid) => !before.has(pid)))
})

function workersIn(children: string): number[] {
  const pids = readFileSync(children, 'utf8').split(' ').map(Number).filter(Boolean)
  return pids.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('uploaded-schemas/worker.ts'))
}
