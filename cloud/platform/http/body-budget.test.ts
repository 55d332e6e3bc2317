import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { Operation } from '@millwright/api/contract.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { limits } from '../limits.ts'
import { BodyBudget, bodyBytesOf } from './body-budget.ts'

const operation: Operation = { method: 'POST', path: '/', summary: '', access: 'signed-in', answers: {} }
const megabyte = 1024 * 1024

function exchange(bytes: number, tenantId: string) {
  const reply = Object.assign(new EventEmitter(), { destroyed: false })
  const raw = Object.assign(new EventEmitter(), {
    complete: false,
    destroy() {
      reply.destroyed = true
      reply.emit('close')
    },
  })
  const request = { headers: { 'content-length': String(bytes) }, caller: { tenantId }, raw }
  return {
    raw,
    reply,
    given: [request as unknown as FastifyRequest, { raw: reply } as unknown as FastifyReply] as const,
  }
}

test('aborts a request whose large body is not sent in time, and releases its memory budget', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const budget = new BodyBudget()
  const large = { ...operation, bodyBytes: limits.bodiesInFlightPerTenant }
  const slow = exchange(limits.bodiesInFlightPerTenant, 'one')
  await budget.reserve(...slow.given, large)
  const next = exchange(megabyte, 'one')
  const admitted = budget.reserve(...next.given, operation)
  t.mock.timers.tick(60_000)
  assert.equal(slow.reply.destroyed, true)
  await admitted
  next.raw.complete = true
  next.raw.emit('end')
  t.mock.timers.tick(60_000)
  assert.equal(next.reply.destroyed, false)
})

test('uploads of files wait for other uploads of their tenant, and do not delay other requests', async () => {
  const budget = new BodyBudget()
  const upload: Operation = { ...operation, bodyBytes: 32 * megabyte, bodyType: 'multipart/form-data' }
  const uploads = Array.from({ length: limits.uploadsPerTenant }, () => exchange(32 * megabyte, 'one'))
  for (const { given } of uploads) await budget.reserve(...given, upload)
  const further = exchange(32 * megabyte, 'one')
  let isAdmitted = false
  const admitted = budget.reserve(...further.given, upload).then(() => {
    isAdmitted = true
  })
  const other = exchange(megabyte, 'one')
  await budget.reserve(...other.given, operation)
  assert.equal(isAdmitted, false)
  uploads[0]?.reply.emit('close')
  await admitted
  for (const { reply } of [...uploads, further, other]) reply.emit('close')
})

test('limits the body of a public operation to a size that needs no memory budget', () => {
  assert.equal(bodyBytesOf({ ...operation, access: 'public' }), limits.largeBodyBytes)
  assert.equal(bodyBytesOf(operation), limits.bodyBytes)
})
