// `npm run dev`: restarts the platform when its code changes, and rebuilds the console when its sources change.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const run = (...args) => spawn(process.execPath, args, { cwd: root, stdio: 'inherit' })

const builder = run('web/build.mjs', '--watch')
const platform = run('--watch', 'main.mjs')
platform.on('exit', (code) => {
  builder.kill()
  process.exit(code ?? 0)
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
