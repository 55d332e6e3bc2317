import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { currentStamp, sourceStamp } from '@millwright/web/console-stamp.ts'

const program = fileURLToPath(new URL('../../web/build.ts', import.meta.url))

/**
 * Builds the console if its sources changed since it was built last. In a process of its own: what a build needs is
 * much, and the platform does not keep it.
 */
export async function ensureConsole(): Promise<void> {
  if (currentStamp() === sourceStamp()) return
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'pipe'] })
  let told = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  child.once('error', reject)
  child.once('close', (code) =>
    code === 0 ? resolve() : reject(new Error(`The console could not be built: ${told.trim()}`)),
  )
  await promise
}
