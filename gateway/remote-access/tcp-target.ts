import type { TunnelStream } from '@millwright/api/tunnel/tunnel-stream.ts'
import { connectToDevice, reasonOf, type TargetCheck, unreachable } from './device-connection.ts'
import { StreamInput } from './stream-input.ts'
import type { Target } from './target-rules.ts'

/** The time in which the last bytes must reach the device after the stream has ended. */
const lingerMs = 10_000

type TcpStreamOptions = { target: Target; check: TargetCheck; signal: AbortSignal }

/** Connects a stream to a TCP port of a device. Each direction ends on its own (half close). */
export async function serveTcp(stream: TunnelStream, { target, check, signal }: TcpStreamOptions): Promise<void> {
  const socket = await connectToDevice(target, { check, signal, allowHalfOpen: true })
  const lost = (reason: string) =>
    unreachable(`The connection to ${target.address}, port ${target.port}, ended: ${reason}.`)
  socket.on('error', (error) => stream.reset(lost(reasonOf(error))))
  socket.on('close', () => {
    if (!stream.writableEnded) stream.reset(lost('the device closed it'))
  })
  stream.on('close', () => {
    if (!stream.readableEnded && !socket.writableEnded) socket.resetAndDestroy()
    else {
      socket.destroySoon()
      setTimeout(() => socket.destroy(), lingerMs).unref()
    }
  })
  if (stream.destroyed) {
    socket.destroy()
    return
  }
  stream.accept()
  socket.pipe(stream)
  new StreamInput(stream).pipeTo(socket)
}
