import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { temporaryFolder, until } from '../testing.ts'
import { Spool } from './spool.ts'

type Entry = { number: number; text?: string }
const printed = (entry: Entry) => JSON.stringify(entry)
const entryIn = (text: string): Entry => JSON.parse(text)

async function drain(spool: Spool): Promise<number[]> {
  const numbers: number[] = []
  const stopping = new AbortController()
  const delivering = spool.deliver(async (text) => void numbers.push(entryIn(text).number), stopping.signal)
  await spool.settled(stopping.signal)
  stopping.abort()
  await delivering
  return numbers
}

const opened = (folder: string, limitBytes = 1_000_000) => Spool.open({ folder, limitBytes })

function segmentsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.spool'))
    .toSorted()
}

describe('the spool', () => {
  test('delivers entries in order, including entries from before a restart', async () => {
    const folder = temporaryFolder()
    const first = await opened(folder)
    await Promise.all([1, 2, 3].map((number) => first.append(printed({ number }))))
    await first.close()
    const second = await opened(folder)
    assert.equal(second.waiting, 3)
    await second.append(printed({ number: 4 }))
    assert.deepEqual(await drain(second), [1, 2, 3, 4])
    assert.equal(second.waitingBytes, 0)
    await second.close()
    const third = await opened(folder)
    assert.deepEqual(await drain(third), [])
    await third.close()
  })

  test('retries an entry until it is delivered, and delivers later entries afterwards', async () => {
    const spool = await opened(temporaryFolder())
    const tried: number[] = []
    const stopping = new AbortController()
    const delivering = spool.deliver(async (text) => {
      tried.push(entryIn(text).number)
      if (tried.length < 3) throw new Error('the line is down')
    }, stopping.signal)
    await spool.append(printed({ number: 1 }))
    await spool.append(printed({ number: 2 }))
    await spool.settled(stopping.signal)
    stopping.abort()
    await delivering
    assert.deepEqual(tried, [1, 1, 1, 2])
    await spool.close()
  })

  test('delays append while the spool is full, and deletes delivered files', async () => {
    const folder = temporaryFolder()
    const spool = await opened(folder, 2_500_000)
    const text = 'x'.repeat(1_000_000)
    await spool.append(printed({ number: 1, text }))
    await spool.append(printed({ number: 2, text }))
    let isAppended = false
    const third = spool.append(printed({ number: 3, text })).then(() => {
      isAppended = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isAppended, false)
    assert.ok(spool.waitingBytes <= 2_500_000)
    const numbers: number[] = []
    const stopping = new AbortController()
    const delivering = spool.deliver(async (text) => void numbers.push(entryIn(text).number), stopping.signal)
    await third
    await until(() => numbers.length === 3)
    await spool.settled(stopping.signal)
    stopping.abort()
    await delivering
    await until(() => segmentsIn(folder).length === 1)
    await spool.close()
  })

  test('rejects a waiting append when its signal is aborted', async () => {
    const spool = await opened(temporaryFolder(), 2_000)
    await spool.append(printed({ number: 1, text: 'x'.repeat(1_900) }))
    const stopping = new AbortController()
    const refused = assert.rejects(
      spool.append(printed({ number: 2, text: 'x'.repeat(1_900) }), stopping.signal),
      /full/,
    )
    stopping.abort()
    await refused
    assert.equal(spool.waiting, 1)
    await spool.close()
  })

  test('delivers entries from many files in order', async () => {
    const folder = temporaryFolder()
    const spool = await opened(folder, 100_000_000)
    for (let number = 0; number < 12; number++) await spool.append(printed({ number, text: 'x'.repeat(1_500_000) }))
    assert.ok(segmentsIn(folder).length > 2)
    await spool.close()
    const again = await opened(folder, 100_000_000)
    assert.deepEqual(
      await drain(again),
      Array.from({ length: 12 }, (_, index) => index),
    )
    await again.close()
  })

  test('keeps all complete entries after a crash during the write of the last entry', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 60, unit: 'grapheme' }), { minLength: 1, maxLength: 8 }),
        fc.nat({ max: 200 }),
        fc.uint8Array({ maxLength: 20 }),
        async (texts, cut, rubbish) => {
          const folder = temporaryFolder()
          const spool = await opened(folder)
          const ends: number[] = []
          for (const [number, text] of texts.entries()) {
            await spool.append(printed({ number, text }))
            ends.push(spool.waitingBytes)
          }
          await spool.close()
          const [file = ''] = segmentsIn(folder)
          const kept = Math.max(0, (ends.at(-1) ?? 0) - cut)
          truncateSync(join(folder, file), kept)
          appendFileSync(join(folder, file), cut === 0 ? rubbish : '')
          const again = await opened(folder)
          const whole = ends.filter((end) => end <= kept).length
          await again.append(printed({ number: 99 }))
          assert.deepEqual(await drain(again), [...Array.from({ length: whole }, (_, index) => index), 99])
          await again.close()
          rmSync(folder, { recursive: true })
        },
      ),
      { numRuns: 25 },
    )
  })

  test('delivers all entries again after the cursor is lost', async () => {
    const folder = temporaryFolder()
    const spool = await opened(folder)
    await spool.append(printed({ number: 1 }))
    assert.deepEqual(await drain(spool), [1])
    await spool.append(printed({ number: 2 }))
    await spool.close()
    writeFileSync(join(folder, 'delivered.json'), '{"seg')
    const again = await opened(folder)
    assert.deepEqual(await drain(again), [1, 2])
    await again.close()
  })

  test('continues delivery when the cursor cannot be written', async () => {
    const folder = temporaryFolder()
    const spool = await opened(folder)
    mkdirSync(join(folder, 'delivered.json.new'))
    for (const number of [1, 2]) await spool.append(printed({ number }))
    assert.deepEqual(await drain(spool), [1, 2])
    await spool.close()
    const again = await opened(folder)
    assert.deepEqual(await drain(again), [1, 2], 'a second time')
    await again.close()
  })

  test('delays append while the disk is full, and delivers the stored entries', {
    skip: !existsSync('/dev/full'),
  }, async () => {
    const folder = temporaryFolder()
    const first = await opened(folder)
    await first.append(printed({ number: 1 }))
    await first.close()
    symlinkSync('/dev/full', join(folder, '000000000002.spool'))
    const spool = await opened(folder)
    const stopping = new AbortController()
    const refused = assert.rejects(spool.append(printed({ number: 2 }), stopping.signal), { code: 'ENOSPC' })
    await until(() => spool.isDiskFull)
    assert.deepEqual(await drain(spool), [1])
    stopping.abort()
    await refused
    await spool.close()
  })

  test('rejects append when an entry is only partly written', { skip: process.platform === 'win32' }, async () => {
    const folder = temporaryFolder()
    const program = `
      import { Spool } from ${JSON.stringify(import.meta.resolve('./spool.ts'))}
      const spool = await Spool.open({ folder: ${JSON.stringify(folder)}, limitBytes: 1e9 })
      for (const number of [1, 2, 3]) {
        await spool.append(JSON.stringify({ number, text: 'x'.repeat(number === 2 ? 9000 : 100) })).catch(() => process.stdout.write('refused ' + number))
      }
      await spool.close()`
    const limited = 'ulimit -f 8; exec "$0" --input-type=module --eval "$1"'
    const child = spawn('sh', ['-c', limited, process.execPath, program], { stdio: ['ignore', 'pipe', 'inherit'] })
    assert.equal(await text(child.stdout), 'refused 2')
    const spool = await opened(folder)
    assert.deepEqual(await drain(spool), [1, 3])
    await spool.close()
  })

  test('keeps appended entries when the process is killed', async () => {
    const folder = temporaryFolder()
    const program = `
      import { Spool } from ${JSON.stringify(import.meta.resolve('./spool.ts'))}
      const spool = await Spool.open({ folder: ${JSON.stringify(folder)}, limitBytes: 1e9 })
      for (let number = 0; ; number++) {
        await spool.append(JSON.stringify({ number }))
        process.stdout.write(number + '\\n')
      }`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let last = -1
    for await (const line of createInterface(child.stdout)) {
      last = Number(line)
      if (last === 20) child.kill('SIGKILL')
    }
    const spool = await opened(folder)
    const numbers = await drain(spool)
    assert.ok(last >= 20 && numbers.length > last)
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index),
    )
    await spool.close()
  })
})
