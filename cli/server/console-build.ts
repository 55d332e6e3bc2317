import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { currentStamp, hasSources, sourceStamp } from '@millwright/web/console-stamp.ts'

const program = fileURLToPath(new URL('../../web/build.ts', import.meta.url))

/**
 * Builds the console if its sources have changed since the last build. An installed archive has no sources. The build runs in a separate process, because
 * the process of the platform would not release the memory that a build needs.
 */
export async function ensureConsole(): Promise<void> {
  if (!hasSources() || currentStamp() === sourceStamp()) return
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  child.once('error', reject)
  child.once('close', (code) =>
    code === 0 ? resolve() : reject(new Error(`The console could not be built: ${errors.trim()}`)),
  )
  await promise
}
