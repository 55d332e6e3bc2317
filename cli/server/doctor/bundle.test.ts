import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { createGunzip } from 'node:zlib'
import { readArchive } from '@millwright/cloud/platform/backup/archive.ts'
import { run } from '../../program/program.ts'
import { testTerminal } from '../../testing.ts'
import { Redaction } from './redaction.ts'

describe('millwright doctor --bundle', () => {
  let home: string

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'millwright-bundle-'))
  })
  afterEach(() => rmSync(home, { recursive: true }))

  const bundle = () => join(home, 'support.tar.gz')

  async function doctor(args: string[], environment: Record<string, string> = {}, input = '') {
    const { terminal, printed } = testTerminal({
      // Port 1 refuses connections, so the database and the platform are not reachable.
      environment: {
        HOME: home,
        MILLWRIGHT_HOME: home,
        MILLWRIGHT_PORT: '1',
        DATABASE_URL: 'postgres://owner:word%2F4711@127.0.0.1:1/millwright',
        ...environment,
      },
      input,
    })
    const code = await run(['doctor', '--bundle', bundle(), ...args], terminal)
    return { code, ...printed }
  }

  async function contents(): Promise<Map<string, string>> {
    const entries = await Array.fromAsync(readArchive(createReadStream(bundle()).pipe(createGunzip())))
    return new Map(entries.map(({ name, content }) => [name, content.toString()]))
  }

  test('writes the archive when the platform is stopped and the database is not reachable', async () => {
    const { code, out } = await doctor(['--log', '-'], {}, `password word/4711\n{"token":"abcdef-4711"}\nlast`)
    assert.equal(code, 0)
    assert.equal(statSync(bundle()).mode & 0o777, 0o600)
    const files = await contents()
    for (const name of files.keys()) assert.match(out, new RegExp(`^ {2}${name} `, 'm'))
    assert.match(files.get('tables.json') ?? '', /"error": "The database is not reachable/)
    assert.match(files.get('metrics.txt') ?? '', /^# /)
    assert.match(files.get('checks.json') ?? '', /"outcome": "fail"/)
    assert.match(files.get('settings.json') ?? '', /"variable": "DATABASE_URL",\s+"value": "\*\*\*"/)
    assert.equal(files.get('logs/standard-input.log'), 'password ***\n{"token":"***"}\nlast\n')
    for (const [name, text] of files) assert.doesNotMatch(text, /word(?:%2F|\/)4711/, name)
  })

  test('writes the archive when the settings are not valid', async () => {
    const { code } = await doctor([], { MILLWRIGHT_DATABASE_CONNECTIONS: 'many' })
    assert.equal(code, 0)
    const files = await contents()
    assert.match(files.get('settings.json') ?? '', /MILLWRIGHT_DATABASE_CONNECTIONS must be a whole number/)
    assert.match(files.get('gateways.json') ?? '', /The settings are not valid/)
  })

  test('contains complete lines of the end of a large log, and of the logs in the home', async () => {
    const log = join(home, 'large.log')
    writeFileSync(log, `${'x'.repeat(400)} secret-of-the-first-line\n`.repeat(10_000))
    mkdirSync(join(home, 'gateway', 'links'), { recursive: true })
    writeFileSync(join(home, 'gateway', 'links', 'snmp.log'), 'line of a link\n')
    await doctor(['--log', log])
    const files = await contents()
    const large = files.get('logs/1-large.log') ?? ''
    assert.ok(large.length > 900_000 && large.length <= 1_000_000)
    assert.match(large, /^x{400} /)
    assert.equal(files.get('logs/snmp.log'), 'line of a link\n')
  })

  test('follows no link in the home, because the user of the services can replace a log by a link', async () => {
    const links = join(home, 'gateway', 'links')
    mkdirSync(links, { recursive: true })
    writeFileSync(join(home, 'other-file'), 'content of another file\n')
    symlinkSync(join(home, 'other-file'), join(links, 'snmp.log'))
    execFileSync('mkfifo', [join(links, 'pipe.log')])
    assert.equal((await doctor([])).code, 0)
    for (const [name, text] of await contents()) assert.doesNotMatch(text, /content of another file/, name)
  })

  test('leaves no file when a log cannot be read, and requires --bundle for --log', async () => {
    const { code, err } = await doctor(['--log', join(home, 'missing.log')])
    assert.equal(code, 1)
    assert.match(err, /missing\.log cannot be read \(ENOENT\)/)
    assert.equal(existsSync(bundle()), false)
    const { terminal, printed } = testTerminal({ environment: { HOME: home, MILLWRIGHT_HOME: home } })
    assert.equal(await run(['doctor', '--log', 'a.log'], terminal), 2)
    assert.match(printed.err, /--log needs --bundle/)
  })
})

describe('redaction', () => {
  const redaction = new Redaction(['known-secret-1', 'short', 'known-secret-1-longer'])

  test('removes secrets of each known form', () => {
    for (const [text, expected] of [
      ['a known-secret-1-longer b known-secret-1 c short', 'a *** b *** c short'],
      [`x ${Buffer.from('known-secret-1').toString('hex')} y`, 'x *** y'],
      ['https://user:any-word@host/path', 'https://user:***@host/path'],
      ['Authorization: Bearer abc.def-123', 'Authorization: ***'],
      ['authorization: ApiKey any-word', 'authorization: ***'],
      ['Cookie: first=any-word; second=other-word\nkept', 'Cookie: ***\nkept'],
      ['{"authorization":["any-word","other-word"],"id":1}', '{"authorization":***,"id":1}'],
      ['{"credentials":{"user":"any-word","pin":"other-word"},"id":1}', '{"credentials":***,"id":1}'],
      ['{"community":"any-word","privKey":"other-word"}', '{"community":"***","privKey":"***"}'],
      ['password_hash=any-word pwd: any-word', 'password_hash=*** pwd: ***'],
      [`create role app password 'any-word' login`, 'create role app password *** login'],
      ['tool --token any-word --name kept', 'tool --token *** --name kept'],
      ['https://any-word@host/path', 'https://***@host/path'],
      ['https://host/path?name=kept&sig=any-word', 'https://host/path?name=kept&sig=***'],
      [
        'https://hooks.example.com/services/T01/B02/a1b2c3d4e5f6a7b8c9d0e1f2',
        'https://hooks.example.com/services/T01/B02/***',
      ],
      ['{"clientSecret":"a\\"b","name":"kept"}', '{"clientSecret":"***","name":"kept"}'],
      [JSON.stringify({ body: '{"password":"a\\"b","id":1}' }), '{"body":"{\\"password\\":\\"***\\",\\"id\\":1}"}'],
      ['{"body":"{\\"password\\":\\"any word\\",\\"id\\":1}"}', '{"body":"{\\"password\\":\\"***\\",\\"id\\":1}"}'],
      ['secret=any&name=kept', 'secret=***&name=kept'],
      ['mws_0123456789abcdef and whsec_0123456789abcdef', '*** and ***'],
      ['eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl', '***'],
      ['AAAA\n-----END PRIVATE KEY-----\nkept', '***\nkept'],
      ['-----BEGIN EC PRIVATE KEY-----\nAAAA', '***'],
      ['millwright_token_cache_hits_total 12', 'millwright_token_cache_hits_total 12'],
    ] as const) {
      assert.equal(redaction.apply(text), expected)
    }
  })

  test('needs a time that grows with the length of a text, and not with its square', () => {
    const texts = ['x', 'password', '-eyJabcdefgh', 'password=\\"', '://a:', 'https://h/a1', '&key=', "password '"]
    for (const text of texts) {
      const times = [50_000, 400_000].map((characters) => {
        const long = text.repeat(characters / text.length)
        const runs = Array.from({ length: 3 }, () => {
          const startedAt = process.cpuUsage()
          redaction.apply(long)
          return process.cpuUsage(startedAt).user
        })
        return Math.min(...runs) + 2_000
      })
      // Eight times the text needs sixty-four times the time if the time grows with the square.
      const [short = 0, long = 0] = times
      assert.ok(long < 30 * short, `${text}: ${short} µs, ${long} µs`)
    }
  })

  test('finds a secret with a colon in a variable that is not a URL', async () => {
    const environment = { REGISTRY_PASSWORD: 'admin:any-word', DATABASE_DSN: 'any-other-word' }
    const sources = { environment, settings: {}, home: undefined, masterKeyFile: undefined, vaultTokenFile: undefined }
    const opened = await Redaction.open(sources)
    assert.equal(opened.apply('a admin:any-word b any-other-word'), 'a *** b ***')
  })
})
