import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Problem } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { createLog } from '../log.ts'
import { temporaryFolder, until } from '../testing.ts'
import { ArtefactCache } from './artefact-cache.ts'
import type { ArtefactSource } from './artefact-download.ts'
import { firmware, interrupt, jobFor, sha256Of, startPlant } from './testing.ts'
import { UpdateError } from './update-error.ts'

const log = createLog({ level: 'silent' })
const limitBytes = 1_000_000

function openCache(folder: string, limit = limitBytes): Promise<ArtefactCache> {
  return ArtefactCache.open({ folder, limitBytes: limit, log })
}

const contentOf = (bytes: Buffer) => ({ sha256: sha256Of(bytes), size: bytes.length })

type SourceOptions = {
  signal?: AbortSignal
  pieces?: number
  fail?: (offset: number) => unknown
  ignoresRange?: boolean
}

/** Returns a source that sends the bytes in pieces and counts its requests. */
function sourceOf(bytes: Buffer, { signal, pieces = 4, fail, ignoresRange = false }: SourceOptions = {}) {
  const offsets: number[] = []
  const source: ArtefactSource = {
    signal: signal ?? new AbortController().signal,
    async open(requested) {
      offsets.push(requested)
      const offset = ignoresRange ? 0 : requested
      async function* content() {
        const size = Math.ceil(bytes.length / pieces)
        for (let at = offset; at < bytes.length; at += size) {
          const error = await fail?.(at)
          if (error !== undefined) throw error
          yield bytes.subarray(at, at + size)
        }
      }
      return { offset, content: content() }
    },
  }
  return { source, offsets }
}

const once = (value: unknown) => {
  let isDone = false
  return (at: number) => {
    if (isDone || at === 0) return undefined
    isDone = true
    return value
  }
}

describe('the artefact cache', () => {
  test('downloads content once for many concurrent users', async () => {
    const cache = await openCache(temporaryFolder())
    const bytes = randomBytes(100_000)
    const sources = Array.from({ length: 50 }, () => sourceOf(bytes))
    const used = await Promise.all(sources.map(({ source }) => cache.use(contentOf(bytes), source)))
    assert.equal(sources.flatMap(({ offsets }) => offsets).length, 1)
    for (const one of used)
      assert.deepEqual(Buffer.concat(await Array.fromAsync(one.content(), (chunk) => Buffer.from(chunk))), bytes)
    assert.deepEqual([...new Set(await Promise.all(used.map((one) => one.digest('sha512'))))].length, 1)
  })

  test('continues with a range after a lost connection', async () => {
    const cache = await openCache(temporaryFolder())
    const bytes = randomBytes(100_000)
    const { source, offsets } = sourceOf(bytes, { fail: once(new Error('ECONNRESET')) })
    using artefact = await cache.use(contentOf(bytes), source)
    assert.deepEqual(offsets, [0, 25_000])
    assert.deepEqual(readFileSync(artefact.path), bytes)
  })

  test('starts again if the platform sends no range', async () => {
    const cache = await openCache(temporaryFolder())
    const bytes = randomBytes(100_000)
    const { source, offsets } = sourceOf(bytes, { fail: once(new Error('ECONNRESET')), ignoresRange: true })
    using artefact = await cache.use(contentOf(bytes), source)
    assert.deepEqual(offsets, [0, 25_000])
    assert.deepEqual(readFileSync(artefact.path), bytes)
  })

  test('continues the download of a gateway that was stopped', async () => {
    const folder = temporaryFolder()
    const bytes = randomBytes(100_000)
    const stopping = new AbortController()
    const first = sourceOf(bytes, {
      signal: stopping.signal,
      fail: (at) => {
        if (at > 0) stopping.abort()
        return at > 0 ? new Error('aborted') : undefined
      },
    })
    await assert.rejects((await openCache(folder)).use(contentOf(bytes), first.source))
    await until(() => readdirSync(folder).some((name) => name.endsWith('.part')))
    const second = sourceOf(bytes)
    using artefact = await (await openCache(folder)).use(contentOf(bytes), second.source)
    assert.deepEqual(second.offsets, [25_000])
    assert.deepEqual(readFileSync(artefact.path), bytes)
  })

  test('downloads content again whose stored part is damaged', async () => {
    const folder = temporaryFolder()
    const bytes = randomBytes(100_000)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${sha256Of(bytes)}.part`), randomBytes(30_000))
    const { source, offsets } = sourceOf(bytes)
    using artefact = await (await openCache(folder)).use(contentOf(bytes), source)
    assert.deepEqual([offsets, readFileSync(artefact.path).equals(bytes)], [[30_000, 0], true])
  })

  test('downloads content again that was changed on disk', async () => {
    const folder = temporaryFolder()
    const cache = await openCache(folder)
    const bytes = randomBytes(100_000)
    const { source, offsets } = sourceOf(bytes)
    {
      using artefact = await cache.use(contentOf(bytes), source)
      writeFileSync(artefact.path, randomBytes(100_000))
    }
    using artefact = await cache.use(contentOf(bytes), source)
    assert.deepEqual([offsets.length, readFileSync(artefact.path).equals(bytes)], [2, true])
    const reopened = sourceOf(bytes)
    using _ = await (await openCache(folder)).use(contentOf(bytes), reopened.source)
    assert.equal(reopened.offsets.length, 0)
  })

  test('refuses content with another hash, and deletes it', async () => {
    const folder = temporaryFolder()
    const cache = await openCache(folder)
    const content = { ...contentOf(randomBytes(10)), size: 100_000 }
    const using = cache.use(content, sourceOf(randomBytes(100_000)).source)
    await assert.rejects(using, (error: UpdateError) => error.code === 'hash_mismatch')
    assert.deepEqual(readdirSync(folder), [])
    await assert.rejects(
      cache.use({ ...content, size: 50_000 }, sourceOf(randomBytes(100_000)).source),
      /more bytes than the artefact has/,
    )
  })

  test('continues with the lease of another job if the first job ends', async () => {
    const cache = await openCache(temporaryFolder())
    const bytes = randomBytes(100_000)
    const ended = new AbortController()
    const first = sourceOf(bytes, {
      signal: ended.signal,
      fail: async (at) => {
        if (at === 0) return undefined
        ended.abort()
        return new Error('aborted')
      },
    })
    const second = sourceOf(bytes)
    const both = [cache.use(contentOf(bytes), first.source), cache.use(contentOf(bytes), second.source)] as const
    await assert.rejects(both[0])
    using artefact = await both[1]
    assert.deepEqual([second.offsets, readFileSync(artefact.path).equals(bytes)], [[25_000], true])
  })

  test('fails for a job whose artefact the platform does not have', async () => {
    const cache = await openCache(temporaryFolder())
    const bytes = randomBytes(1_000)
    const source: ArtefactSource = {
      signal: new AbortController().signal,
      open: () => Promise.reject(new Problem('not_found', 'gone')),
    }
    await assert.rejects(
      cache.use(contentOf(bytes), source),
      (error: UpdateError) => error.code === 'artefact_not_found',
    )
    await until(() => cache.status.artefacts === 0)
  })

  test('deletes the content that was not used for the longest time, and never content in use', async () => {
    const folder = temporaryFolder()
    const cache = await openCache(folder)
    const [first, second, third] = [randomBytes(400_000), randomBytes(400_000), randomBytes(400_000)]
    const held = await cache.use(contentOf(first), sourceOf(first).source)
    ;(await cache.use(contentOf(second), sourceOf(second).source))[Symbol.dispose]()
    using _ = await cache.use(contentOf(third), sourceOf(third).source)
    assert.deepEqual(readdirSync(folder).toSorted(), [sha256Of(first), sha256Of(third)].toSorted())
    assert.equal(cache.status.bytes, 800_000)

    let isReady = false
    const waiting = cache.use(contentOf(second), sourceOf(second).source).then((artefact) => {
      isReady = true
      return artefact
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isReady, false, 'there is no space while both contents are in use')
    held[Symbol.dispose]()
    using artefact = await waiting
    assert.deepEqual(readFileSync(artefact.path), second)
    assert.equal(existsSync(join(folder, sha256Of(first))), false)
  })

  test('keeps the limit after a start with a smaller limit', async () => {
    const folder = temporaryFolder()
    const cache = await openCache(folder)
    const contents = [randomBytes(300_000), randomBytes(300_000), randomBytes(300_000)]
    for (const bytes of contents) (await cache.use(contentOf(bytes), sourceOf(bytes).source))[Symbol.dispose]()
    for (const [index, bytes] of contents.entries())
      utimesSync(join(folder, sha256Of(bytes)), new Date(1_000_000 * (index + 1)), new Date(1_000_000))
    const smaller = await openCache(folder, 500_000)
    assert.equal(smaller.status.bytes, 300_000)
    assert.deepEqual(readdirSync(folder), [sha256Of(contents[2] as Buffer)])
    const tooLarge = cache.use(
      { sha256: sha256Of(Buffer.from('x')), size: limitBytes + 1 },
      sourceOf(randomBytes(1)).source,
    )
    await assert.rejects(tooLarge, /MILLWRIGHT_GATEWAY_ARTEFACT_CACHE_MB/)
  })

  test('deletes unused content when the disk is full, and fails if there is none', async () => {
    const folder = temporaryFolder()
    const cache = await openCache(folder)
    const [bytes, other] = [randomBytes(100_000), randomBytes(100_000)]
    const diskFull = () => once(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }))
    await assert.rejects(
      cache.use(contentOf(bytes), sourceOf(bytes, { fail: diskFull() }).source),
      (error: UpdateError) => error instanceof UpdateError && error.code === 'storage_full',
    )
    assert.deepEqual(readdirSync(folder), [])
    ;(await cache.use(contentOf(other), sourceOf(other).source))[Symbol.dispose]()
    using artefact = await cache.use(contentOf(bytes), sourceOf(bytes, { fail: diskFull() }).source)
    assert.deepEqual([readdirSync(folder), readFileSync(artefact.path).equals(bytes)], [[sha256Of(bytes)], true])
  })
})

describe('the download of a gateway', () => {
  test('continues with a range when the connection to the platform is lost', async (t) => {
    const plant = await startPlant(t)
    const content = firmware('2.0', 3_000_000)
    let isInterrupted = false
    plant.updates.sendContent = (response, bytes) => {
      if (isInterrupted) return response.end(bytes)
      isInterrupted = true
      return interrupt(response, bytes, 1_000_000)
    }
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content, version: '2.0' })
    assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
    const [first, second] = plant.updates.downloads
    assert.equal(first?.range, undefined)
    assert.match(second?.range ?? '', /^bytes=[1-9]\d*-$/)
    assert.ok(plant.devices[0].prepared?.equals(content))
  })

  test('fails the update when the content has another hash', async (t) => {
    const plant = await startPlant(t)
    const sha256 = sha256Of(Buffer.from('another'))
    const job = plant.updates.offer(jobFor(plant.devices[0]), { content: firmware('2.0'), version: '2.0', sha256 })
    const end = await plant.updates.endOf(job)
    assert.deepEqual([end.state, end.result.code], ['FAILED', 'hash_mismatch'])
    assert.equal(plant.devices[0].prepared, undefined)
  })

  test('needs little memory for a large artefact and several devices', onlyInLongRuns, async (t) => {
    const megabyte = 1024 * 1024
    let received = 0
    let largest = 0
    let sampledAt = 0
    // Only memory that is in use counts, so each sample collects garbage first. This takes long, so there are few samples:
    // one near the end of the download, and one or two during the transfers to the devices.
    const sampleBytes = 56 * megabyte
    setFlagsFromString('--expose-gc')
    const collectGarbage: () => void = runInNewContext('gc')
    const memory = () => {
      collectGarbage()
      const { external, heapUsed } = process.memoryUsage()
      return external + heapUsed
    }
    const plant = await startPlant(t, { devices: 2, settings: { renewEveryMs: 500 } })
    const content = firmware('2.0', 64 * megabyte)
    // The content is sent in small parts, and the devices of this test do not store it.
    plant.updates.sendContent = async (response, bytes) => {
      for (let at = 0; at < bytes.length; at += megabyte) {
        if (at === sampleBytes) largest = Math.max(largest, memory())
        if (!response.write(bytes.subarray(at, at + megabyte)))
          await new Promise((resolve) => response.once('drain', resolve))
      }
      response.end()
    }
    plant.hooks.onContent = (device, bytes, chunks) => {
      received += chunks.at(-1)?.length ?? 0
      if (bytes > 100) chunks.splice(1)
      if (device.number === 0 && received > sampledAt + sampleBytes) {
        sampledAt = received
        largest = Math.max(largest, memory())
      }
    }
    const before = memory()
    const jobs = plant.devices.map((device) => plant.updates.offer(jobFor(device), { content, version: '2.0' }))
    for (const job of jobs) assert.equal((await plant.updates.endOf(job)).state, 'ACTIVATED')
    assert.equal(received, 2 * content.length)
    const growth = (largest - before) / megabyte
    assert.ok(growth < 48, `memory grew by ${growth.toFixed(0)} MB`)
  })
})
