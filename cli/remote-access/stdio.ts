import { pipeline } from 'node:stream/promises'
import type { Session } from '../session/session.ts'
import type { OpenRemoteSession } from './remote-session.ts'

/**
 * Carries the bytes of standard input and output, for example as `ProxyCommand` of OpenSSH. The end of standard input is
 * sent to the device. The command ends when the device has ended its direction, or when standard output is closed.
 */
export async function serveStandardStreams({ terminal }: Session, remote: OpenRemoteSession): Promise<void> {
  const stream = await remote.open({ kind: 'tcp' })
  const { input, output } = terminal.openBytes()
  const sending = pipeline(input, stream, { signal: remote.signal })
  sending.catch(() => {})
  try {
    await pipeline(stream, output, { signal: remote.signal, end: false })
  } catch (error) {
    // The program that reads the output has ended, which is not an error.
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  } finally {
    stream.destroy()
    input.destroy()
  }
}
