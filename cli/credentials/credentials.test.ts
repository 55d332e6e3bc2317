import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { type RunOptions, TestPlatform } from '../testing.ts'
import { secretsOf } from './values.ts'

let platform: TestPlatform
let token: string
let schemaId: string

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Sign-in',
  type: 'object',
  properties: { user: { type: 'string' }, password: { type: 'string', format: 'password', title: 'Password' } },
  required: ['user', 'password'],
}

before(async () => {
  platform = await TestPlatform.open()
  token = (await platform.as('administrator')).token
  const args = ['--product', 'example.links.ovens', '--product-version', '1.0.0', '--uri', 'urn:example:ovens']
  schemaId = (
    await succeed(['credentials', 'schemas', 'upload', '-', ...args], { input: JSON.stringify(schema) })
  ).trim()
})

after(() => platform[Symbol.asyncDispose]())

const printed: string[] = []

async function run(args: string[], options: RunOptions = {}) {
  const ended = await platform.run(args, { token, ...options })
  printed.push(ended.out, ended.err)
  return ended
}

async function succeed(args: string[], options: RunOptions = {}): Promise<string> {
  const { code, out, err } = await run(args, options)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

const creation = (name: string, ...more: string[]) => [
  ...[
    'credentials',
    'instances',
    'create',
    name,
    '--schema',
    schemaId,
    '--range',
    '10.0.4.0/24',
    '--set',
    'user=admin',
  ],
  ...more,
]

test('credentials instances create reads secrets only from a prompt or standard input, and no command prints them', async () => {
  await succeed(creation('RunOptions'), { answers: [`the ${plantedWord}`] })
  await succeed(creation('Piped'), { input: JSON.stringify({ password: `the ${plantedWord}` }) })
  const argument = await run(creation('Argument', '--set', 'password=short'), { answers: [] })
  assert.equal(argument.code, 2)
  assert.match(argument.err, /^password is secret, and other users of the machine can see arguments\.\nNext: omit it/)
  const broken = await run(creation('Broken'), { input: plantedWord })
  assert.equal(broken.code, 2)
  const missing = await run(creation('Missing'), { input: '' })
  assert.equal(missing.code, 2)
  assert.match(missing.err, /invalid_values/)
  assert.match(
    await succeed(['credentials', 'instances', 'list', '--address', '10.0.4.7']),
    / RunOptions .* 10\.0\.4\.0\/24 +both /,
  )
  assert.match(await succeed(['credentials', 'instances', 'show', 'RunOptions']), /password +\*\*\*/)
  await succeed(['credentials', 'instances', 'update', 'RunOptions', '--range', '10.0.5.0/24'])
  await succeed(['credentials', 'instances', 'update', 'RunOptions', '--secrets'], {
    answers: [`another ${plantedWord}`],
  })
  assert.match(await succeed(['credentials', 'instances', 'history', 'RunOptions']), /updated/)
  assert.ok(!printed.join('').includes(plantedWord))
})

test('credentials instances create keeps a number in a text field as text', async () => {
  await succeed(creation('Number', '--set', 'user=3'), { input: JSON.stringify({ password: `the ${plantedWord}` }) })
  const { data } = JSON.parse(await succeed(['credentials', 'instances', 'show', 'Number', '--json']))
  assert.equal(data.values.user, '3')
})

test('credentials commands add a credential to a monitoring set and an asset, and where-used lists both', async () => {
  await succeed(['assets', 'create', '--name', 'Oven 1', '--mac', '00-1B-1B-00-00-77'])
  await succeed(creation('Ovens'), { answers: [`the ${plantedWord}`] })
  await succeed(['credentials', 'templates', 'create', 'Monitoring'])
  await succeed(['credentials', 'templates', 'add', 'Monitoring', 'Ovens'])
  assert.match(await succeed(['credentials', 'templates', 'show', 'Monitoring']), / Ovens /)
  assert.match(await succeed(['credentials', 'assign', 'Oven 1', 'Ovens']), /^Credentials \S+ assigned to Oven 1$/m)
  assert.match(await succeed(['credentials', 'of', 'Oven 1']), / Ovens .* yes$/m)
  assert.match(
    await succeed(['credentials', 'where-used', 'Ovens']),
    /^templates\n {2}- id +\S+\n {4}name +Monitoring$/m,
  )
  await succeed(['credentials', 'unassign', 'Oven 1', 'Ovens'])
  await succeed(['credentials', 'templates', 'remove', 'Monitoring', 'Ovens'])
  assert.equal(await succeed(['credentials', 'where-used', 'Ovens']), 'The credentials are not used.\n')
  await succeed(['credentials', 'templates', 'delete', 'Monitoring'])
  await succeed(['credentials', 'instances', 'delete', 'Ovens'])
  assert.equal((await run(['credentials', 'instances', 'show', 'Ovens'])).code, 4)
  assert.equal(
    (await run(['credentials', 'schemas', 'delete', schemaId])).code,
    5,
    'a credential type with credentials cannot be deleted',
  )
})

test('secretsOf finds secret fields at any depth', () => {
  const deep = {
    properties: { a: { properties: { b: { writeOnly: true } }, required: ['b'] }, c: { format: 'password' } },
  }
  assert.deepEqual(secretsOf(deep), [
    { path: ['a', 'b'], required: true, title: 'a.b' },
    { path: ['c'], required: false, title: 'c' },
  ])
})
