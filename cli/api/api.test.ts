import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isLasting } from '@millwright/api/contract.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { TestPlatform } from '../testing.ts'
import { described, type Offered, offeredOperations, parametersOf } from './operations.ts'

let platform: TestPlatform
let token: string

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
})

after(() => platform[Symbol.asyncDispose]())

const run = (...given: string[]) => platform.run(['api', ...given], { token })

describe('every operation', () => {
  /** Parameters that are right in form; there is nothing behind them. */
  const filled = ({ operation }: Offered): string[] =>
    parametersOf(operation)
      .filter(({ required }) => required)
      .flatMap(({ name, schema }) => {
        const { enum: values, examples, pattern } = schema as { enum?: string[]; examples?: string[]; pattern?: string }
        const fallback = pattern?.startsWith('^[0-9a-fA-F]{8}') ? '0198f0c2-7b1e-7c3a-9d55-0242ac120002' : 'x'
        return ['--param', `${name}=${values?.[0] ?? examples?.[0] ?? fallback}`]
      })

  for (const one of offeredOperations()) {
    const { contract, name, operation } = one
    test(`${contract.name} ${name} is described, and reaches its operation`, async () => {
      const help = described(one)
      assert.ok(help.includes(`${operation.method} /`) && help.includes(`millwright api ${contract.name} ${name}`))
      if (Object.values(operation.answers).some(isLasting)) return
      const given = [contract.name, name, ...filled(one), '--include']
      if (operation.body !== undefined) given.push('--body', '-')
      const { err, code } = await platform.run(['api', ...given], { token, input: '{}' })
      assert.match(err, /^x-request-id: /m, 'the platform answered')
      assert.doesNotMatch(err, /method_not_allowed|unknown_parameter|unsupported_media_type/)
      assert.ok(code <= 6, err)
    })
  }
})

test('what is known of an operation is told before it is asked', async () => {
  const { out } = await run('inventory', 'listAssets', '--help')
  assert.match(out, /Needs: {2}the permission inventory_read_asset_data/)
  assert.match(out, /limit +integer 1–100; default 50; Page size/)
  const missing = await run('inventory', 'readAsset')
  assert.deepEqual([missing.code, missing.out], [2, ''])
  assert.match(missing.err, /^--param id=… is missing\.\nNext: millwright api inventory readAsset --help\n$/)
  assert.match(
    (await run('inventory', 'listAssets', '--param', 'lmit=1')).err,
    /^There is no parameter lmit; there are limit, /,
  )
  assert.match((await run('inventory', 'listAsset')).err, /Did you mean listAssets\?/)
})

test('a body comes from a file or a pipe, and in the arguments only where it holds no secret', async () => {
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
  assert.match(refused.err, /^This body may hold a secret/)
  assert.equal((await run('authorization', 'createAccessGroup', '--body', '@/nowhere.json')).code, 2)
  assert.match((await run('authorization', 'createAccessGroup', '--body', '{')).err, /^The body is no JSON: /)
})

test('the list names every service and operation, for people and for programs', async () => {
  const people = await run()
  const programs = await run('--json')
  assert.equal(people.code, 0)
  assert.equal(JSON.parse(programs.out).data.length, offeredOperations().length)
  assert.match(people.out, /^inventory +listAssets +List matching assets/m)
  assert.match((await run('jobs')).out, /^jobs +getJob/m)
})

test('refusals are told with title, detail, code and places, and as one line for programs', async () => {
  const body = JSON.stringify({ data: { nmae: 'x' } })
  const people = await run('authorization', 'createAccessGroup', '--body', body)
  assert.equal(people.code, 2)
  assert.match(people.err, /^Invalid request body: \/data\/name is missing; .*\(invalid_body\)/)
  const programs = await run('authorization', 'createAccessGroup', '--body', body, '--json')
  assert.equal(programs.code, 2)
  assert.equal(JSON.parse(programs.err).code, 'invalid_body')
  assert.equal(JSON.parse(programs.err).errors.length, 2)
})
