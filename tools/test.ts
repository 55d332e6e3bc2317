import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { secretIn } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { ensureTemplate, startTestServer } from '@millwright/cloud/platform/testing/server.ts'
import { check, root } from './checks.ts'

/**
 * `npm test`: types and lint, then every test on one throw-away database server; the services once more with each in a
 * process of its own. `npm test -- <files>` runs some files only. Nothing that was printed may show a secret.
 */

const given = process.argv.slice(2)
const everything = globSync('**/*.test.ts', {
  cwd: root,
  exclude: ['node_modules', '**/node_modules', '.millwright'],
}).toSorted()
const wanted = given.length === 0 ? everything : everything.filter((file) => given.some((part) => file.includes(part)))
if (wanted.length === 0) fail(`No test file matches ${given.join(' ')}.`)

if (given.length === 0 && !(await check())) fail('The checks failed.')

const external = process.env.MILLWRIGHT_TEST_DATABASE_URL
const server = external === undefined ? await startTestServer() : undefined
if (server !== undefined) {
  await ensureTemplate(server.address)
  process.env.MILLWRIGHT_TEST_SERVER = JSON.stringify(server.address)
}

let shown: string | undefined
const results = [await runTests(wanted, 'in one process', {})]
// Rules without a hub are the same in every arrangement.
const services = wanted.filter((file) => file.startsWith('cloud/services/') && usesHub(file))
if (services.length > 0) {
  results.push(
    await runTests(services, 'each service in a process of its own', { MILLWRIGHT_TEST_ARRANGEMENT: 'split' }),
  )
}
await server?.stop()

const passed = results.reduce((sum, result) => sum + result.passed, 0)
const failed = results.reduce((sum, result) => sum + result.failed, 0)
const skipped = results.reduce((sum, result) => sum + result.skipped, 0)
if (shown !== undefined) console.error(`A secret was printed: …${shown}…`)
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exit(results.every((result) => result.ok) && shown === undefined && passed > 0 ? 0 : 1)

type Result = { ok: boolean; passed: number; failed: number; skipped: number }

function runTests(files: string[], title: string, environment: Record<string, string>): Promise<Result> {
  console.log(`\n${files.length} test files, ${title}\n`)
  return new Promise((resolve, reject) => {
    const runner = ['--test', '--test-concurrency=2', '--test-timeout=300000', '--test-reporter=spec', ...files]
    const child = spawn(process.execPath, runner, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    })
    let summary = ''
    const watch = (text: string) => {
      shown ??= secretIn(text)
      summary = (summary + text).slice(-20_000)
    }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text)
      watch(text)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      process.stderr.write(text)
      watch(text)
    })
    child.on('error', reject)
    child.on('close', (code) => {
      const count = (name: string) => Number(new RegExp(`^ℹ ${name} (\\d+)`, 'm').exec(summary)?.[1] ?? 0)
      resolve({ ok: code === 0, passed: count('pass'), failed: count('fail'), skipped: count('skipped') })
    })
  })
}

function usesHub(file: string): boolean {
  return readFileSync(join(root, file), 'utf8').includes('testHub')
}

function fail(sentence: string): never {
  console.error(sentence)
  process.exit(1)
}
