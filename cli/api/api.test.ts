import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isEventStream } from '@millwright/api/contract.ts'
import { isLongRun } from '@millwright/api/test-effort.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { TestPlatform } from '../testing.ts'
import { type ApiOperation, operationHelp, parametersOf, publicOperations } from './operations.ts'

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
})

after(() => platform[Symbol.asyncDispose]())

const run = (...args: string[]) => platform.run(['api', ...args], { token })

describe('millwright api for every operation', () => {
  /** Returns the parameters of an operation with valid values. No resource exists for these values. */
  const filled = ({ operation }: ApiOperation): string[] =>
    parametersOf(operation)
      .filter(({ required }) => required)
      .flatMap(({ name, schema }) => {
        const { enum: values, examples, pattern } = schema as { enum?: string[]; examples?: string[]; pattern?: string }
        const fallback = pattern?.startsWith('^[0-9a-fA-F]{8}') ? '0198f0c2-7b1e-7c3a-9d55-0242ac120002' : 'x'
        return ['--param', `${name}=${values?.[0] ?? examples?.[0] ?? fallback}`]
      })

  test('every operation has a help text', () => {
    for (const one of publicOperations()) {
      const { contract, name, operation } = one
      const help = operationHelp(one)
      assert.ok(
        help.includes(`${operation.method} /`) && help.includes(`millwright api ${contract.name} ${name}`),
        name,
      )
    }
  })

  /** Outside the long runs, only the first operation of each contract and method is called. */
  const called = new Set<string>()
  for (const one of publicOperations()) {
    const { contract, name, operation } = one
    if (Object.values(operation.answers).some(isEventStream)) continue
    const kind = `${contract.name} ${operation.method}`
    if (called.has(kind) && !isLongRun) continue
    called.add(kind)
    test(`millwright api ${contract.name} ${name} calls the operation`, async () => {
      const args = [contract.name, name, ...filled(one), '--include']
      if (operation.body !== undefined) args.push('--body', '-')
      const { err, code } = await platform.run(['api', ...args], { token, input: '{}' })
      assert.match(err, /^x-request-id: /m, 'the platform answered')
      assert.doesNotMatch(err, /method_not_allowed|unknown_parameter|unsupported_media_type/)
      assert.ok(code <= 6, err)
    })
  }
})

test('millwright api validates parameters before it sends the request', async () => {
  const { out } = await run('inventory', 'listAssets', '--help')
  assert.match(out, /Requires: the permission inventory_read_asset_data/)
  assert.match(out, /limit +integer 1–100; default 50; Page size/)
  const missing = await run('inventory', 'readAsset')
  assert.deepEqual([missing.code, missing.out], [2, ''])
  assert.match(missing.err, /^--param id=… is missing\.\nNext: millwright api inventory readAsset --help\n$/)
  assert.match(
    (await run('inventory', 'listAssets', '--param', 'lmit=1')).err,
    /^Unknown parameter "lmit"\. Parameters: limit, /,
  )
  assert.match((await run('inventory', 'listAsset')).err, /Did you mean listAssets\?/)
  assert.match((await run('authorization', 'createAccessGroup')).err, /^The body is missing\./)
  const optional = await run('remote-access', 'denySession', '--param', 'id=0198f0c2-7b1e-7c3a-9d55-0242ac120002')
  assert.doesNotMatch(optional.err, /The body is missing/)
})

test('millwright api reads a body from a file or standard input, and from arguments only without secrets', async () => {
  const body = JSON.stringify({ data: { name: 'line-1' } })
  const made = await run('authorization', 'createAccessGroup', '--body', body)
  assert.equal(made.code, 0, made.err)
  assert.equal(JSON.parse(made.out).data.name, 'line-1')
  const again = await platform.run(['api', 'authorization', 'createAccessGroup', '--body', '-'], { token, input: body })
  assert.equal(again.code, 5)
  assert.match(again.err, /^Already exists: .*\(already_exists\)$/m)
  const user = JSON.stringify({ data: { name: 'jane', password: plantedWord } })
  const refused = await run('identity', 'createUser', '--body', user)
  assert.equal(refused.code, 2)
  assert.match(refused.err, /^This body may contain a secret/)
  assert.equal((await run('authorization', 'createAccessGroup', '--body', '@/nowhere.json')).code, 2)
  assert.match((await run('authorization', 'createAccessGroup', '--body', '{')).err, /^The body is not valid JSON: /)
})

test('millwright api lists every service and operation as text and as JSON', async () => {
  const text = await run()
  const json = await run('--json')
  assert.equal(text.code, 0)
  assert.equal(JSON.parse(json.out).data.length, publicOperations().length)
  assert.match(text.out, /^inventory +listAssets +List matching assets/m)
  assert.match((await run('jobs')).out, /^jobs +getJob/m)
})

test('millwright api prints an error with title, detail, code and fields, or as one line of JSON', async () => {
  const body = JSON.stringify({ data: { nmae: 'x' } })
  const text = await run('authorization', 'createAccessGroup', '--body', body)
  assert.equal(text.code, 2)
  assert.match(text.err, /^Invalid request body: \/data\/name is missing; .*\(invalid_body\)/)
  const json = await run('authorization', 'createAccessGroup', '--body', body, '--json')
  assert.equal(json.code, 2)
  assert.equal(JSON.parse(json.err).code, 'invalid_body')
  assert.equal(JSON.parse(json.err).errors.length, 2)
})
