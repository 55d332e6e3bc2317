import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { run } from '../program/program.ts'
import { testTerminal } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'certificates-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const home = join(folder, 'home')

async function certificate(...args: string[]) {
  const { terminal, printed } = testTerminal({})
  const code = await run(['gateway', 'certificate', ...args, '--home', home], terminal)
  return { code, ...printed }
}

const listed = async () => JSON.parse((await certificate('list', '--json')).out).data

test('creates the files for a link and for an agent, lists the certificates, and revokes them', async () => {
  const output = join(folder, 'ovens')
  const created = await certificate(
    'create',
    'ovens',
    '--host',
    '10.0.0.7',
    '--host',
    'ovens.example',
    '--output',
    output,
  )
  assert.equal(created.code, 0, created.err)
  assert.match(created.out, /MILLWRIGHT_LINK_TLS_CERT=ovens\.pem/)
  assert.doesNotMatch(created.out, /PRIVATE/)
  const read = (name: string) => readFileSync(join(output, name), 'utf8')
  const parsed = new X509Certificate(read('ovens.pem'))
  const authority = new X509Certificate(read('authority.pem'))
  assert.ok(parsed.verify(authority.publicKey) && parsed.checkPrivateKey(createPrivateKey(read('ovens-key.pem'))))
  assert.ok(parsed.checkIP('10.0.0.7') && parsed.checkHost('ovens.example'))
  assert.equal(statSync(join(output, 'ovens-key.pem')).mode & 0o777, 0o600)
  assert.doesNotMatch(read('authority.pem'), /PRIVATE/)

  const agent = await certificate('create', 'reporter', '--role', 'agent', '--days', '90', '--output', output, '--json')
  const { data } = JSON.parse(agent.out)
  const days = (Date.parse(data.expires) - Date.parse(data.created)) / 86_400_000
  assert.ok(Math.abs(days - 90) < 0.01)
  assert.match(
    (await certificate('list')).out,
    /reporter\s+agent.*valid[\s\S]*ovens\s+link\s+10\.0\.0\.7, ovens\.example\s+valid/,
  )

  assert.match((await certificate('revoke', 'ovens')).out, /revoked/)
  assert.deepEqual(
    (await listed()).map(({ name, revoked }: { name: string; revoked?: string }) => [name, revoked !== undefined]),
    [
      ['reporter', false],
      ['ovens', true],
    ],
  )
  const missing = await certificate('revoke', 'saws')
  assert.equal(missing.code, 4)
  assert.match(missing.err, /no certificate with the name or serial number "saws"/)
})

test('refuses invalid requests and existing files, without creating a certificate', async () => {
  const before = (await listed()).length
  const output = join(folder, 'refused')
  for (const [args, message] of [
    [['saws'], /pass --host/],
    [['saws', '--host', 'a b'], /"a b" is not a DNS name or an IP address/],
    [['saws', '--host', '*.example'], /is not a DNS name/],
    [['../saws', '--host', 'a'], /not a valid name/],
    [['saws', '--host', 'a', '--days', '89'], /90 to 825 days/],
    [['saws', '--host', 'a', '--days', '826'], /90 to 825 days/],
    [['saws', '--host', 'a', '--days', 'long'], /90 to 825 days/],
    [['saws', '--host', 'a', '--role', 'gateway'], /--role/],
  ] as const) {
    const { code, err } = await certificate('create', ...args, '--output', output)
    assert.equal(code, 2, args.join(' '))
    assert.match(err, message)
  }
  assert.ok(!existsSync(output))
  writeFileSync(join(folder, 'saws-key.pem'), 'mine')
  const existing = await certificate('create', 'saws', '--host', 'a', '--output', folder)
  assert.match(existing.err, /saws-key\.pem already exists/)
  assert.equal(readFileSync(join(folder, 'saws-key.pem'), 'utf8'), 'mine')
  writeFileSync(join(folder, 'authority.pem'), 'of another gateway')
  const foreign = await certificate('create', 'drills', '--host', 'a', '--output', folder)
  assert.match(foreign.err, /authority\.pem already exists/)
  for (const file of ['saws.pem', 'drills.pem', 'drills-key.pem']) assert.ok(!existsSync(join(folder, file)), file)
  assert.equal((await listed()).length, before)
})
