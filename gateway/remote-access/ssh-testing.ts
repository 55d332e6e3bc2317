import { once } from 'node:events'
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { isAbsolute, join, resolve } from 'node:path'
import type { AuthContext, Connection, ServerChannel, ServerConfig, SFTPWrapper } from 'ssh2'
import ssh2 from 'ssh2'

/** This file contains a device with ssh for tests. It is the server of the library ssh2, and stores files in a folder. */

const { STATUS_CODE, OPEN_MODE, flagsToString } = ssh2.utils.sftp

/** Creates a key. One in 200 keys of the library is malformed, so the function repeats until the key can be read. */
export function newSshKey(): { public: string; private: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519')
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair
  }
}

export const hostKey = newSshKey()

type ShellInfo = { columns: number; rows: number; term: string }

export type SshDeviceOptions = {
  /** Accepts or rejects an attempt to sign in. */
  authenticate: (context: AuthContext) => void
  shell?: (channel: ServerChannel, info: ShellInfo, device: TestSshDevice) => void
  /** The folder of the file transfer. Without it, the device has no file transfer. */
  folder?: string
  banner?: string
  /** The number of times that the device repeats its banner before the first attempt to sign in. */
  repeatedBanners?: number
  hostKeys?: ServerConfig['hostKeys']
  algorithms?: ServerConfig['algorithms']
}

export class TestSshDevice implements AsyncDisposable {
  readonly #server: ssh2.Server
  readonly sockets = new Set<Socket>()
  readonly sizes: { columns: number; rows: number }[] = []
  connections = 0
  attempts: string[] = []

  private constructor(options: SshDeviceOptions) {
    const { hostKeys = [hostKey.private], banner, algorithms } = options
    this.#server = new ssh2.Server(
      { hostKeys, ...(banner !== undefined && { banner }), ...(algorithms && { algorithms }) },
      (connection) => this.#serve(connection, options),
    )
    const inner = (this.#server as unknown as { _srv: NodeJS.EventEmitter })._srv
    inner.on('connection', (socket: Socket) => {
      this.connections += 1
      this.sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('close', () => this.sockets.delete(socket))
    })
  }

  static async start(options: SshDeviceOptions): Promise<TestSshDevice> {
    const device = new TestSshDevice(options)
    device.#server.listen(0, '127.0.0.1')
    await once(device.#server, 'listening')
    return device
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  #serve(connection: Connection, options: SshDeviceOptions): void {
    connection.on('error', () => undefined)
    connection.on('authentication', (context) => {
      const { banner = '', repeatedBanners = 0 } = options
      if (this.attempts.length === 0)
        for (let count = 0; count < repeatedBanners; count++) sendBanner(connection, banner)
      this.attempts.push(context.method)
      options.authenticate(context)
    })
    connection.on('session', (accept) => {
      const session = accept()
      const info = { columns: 0, rows: 0, term: '' }
      session.on('pty', (acceptPty, _reject, { cols, rows, ...pty }) => {
        Object.assign(info, { columns: cols, rows, term: (pty as { term?: string }).term })
        acceptPty?.()
      })
      session.on('window-change', (acceptChange, _reject, { cols, rows }) => {
        this.sizes.push({ columns: cols, rows })
        acceptChange?.()
      })
      const { shell, folder } = options
      if (shell !== undefined) session.on('shell', (acceptShell) => shell(acceptShell(), info, this))
      if (folder !== undefined) session.on('sftp', (acceptSftp) => serveFiles(acceptSftp(), folder))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** Sends a further banner. The library itself sends one. */
function sendBanner(connection: Connection, text: string): void {
  const { _packetRW: packets, _cipher: cipher } = (connection as unknown as { _protocol: SshProtocol })._protocol
  const length = Buffer.byteLength(text)
  const packet = packets.write.alloc(1 + 4 + length + 4)
  const start = packets.write.allocStart
  packet[start] = 53
  packet.writeUInt32BE(length, start + 1)
  packet.write(text, start + 5)
  packet.writeUInt32BE(0, start + 5 + length)
  cipher.encrypt(packets.write.finalize(packet))
}

/** The parts of the library's protocol with which a packet is sent. */
type SshProtocol = {
  _packetRW: { write: { allocStart: number; alloc(bytes: number): Buffer; finalize(packet: Buffer): Buffer } }
  _cipher: { encrypt(packet: Buffer): void }
}

/** Accepts one user with a password. */
export function passwordOnly(user: string, password: string): SshDeviceOptions['authenticate'] {
  return (context) => {
    if (context.method === 'password' && context.username === user && context.password === password) context.accept()
    else context.reject(['password'])
  }
}

const attributesOf = ({ mode, uid, gid, size, atimeMs, mtimeMs }: Stats) => ({
  mode,
  uid,
  gid,
  size,
  atime: Math.floor(atimeMs / 1_000),
  mtime: Math.floor(mtimeMs / 1_000),
})

function serveFiles(sftp: SFTPWrapper, folder: string): void {
  const handles = new Map<number, { path: string; file?: number; names?: string[] }>()
  let next = 0
  const at = (path: string) => (isAbsolute(path) ? path : resolve(folder, path))
  const handleOf = (id: number) => {
    const handle = Buffer.alloc(4)
    handle.writeUInt32BE(id)
    return handle
  }
  /** Answers with the status of the error if a function throws. */
  const guarded = (request: number, serve: () => void) => {
    try {
      serve()
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const status =
        code === 'ENOENT'
          ? STATUS_CODE.NO_SUCH_FILE
          : code === 'EACCES' || code === 'EPERM'
            ? STATUS_CODE.PERMISSION_DENIED
            : STATUS_CODE.FAILURE
      sftp.status(request, status, (error as Error).message)
    }
  }
  const done = (request: number, run: () => void) =>
    guarded(request, () => {
      run()
      sftp.status(request, STATUS_CODE.OK)
    })
  sftp.on('OPEN', (request, path, flags) =>
    guarded(request, () => {
      const mode = (flags & OPEN_MODE.EXCL) !== 0 ? 'wx' : (flagsToString(flags) ?? 'r')
      handles.set(++next, { path: at(path), file: openSync(at(path), mode) })
      sftp.handle(request, handleOf(next))
    }),
  )
  sftp.on('READ', (request, handle, offset, length) =>
    guarded(request, () => {
      const bytes = Buffer.alloc(Math.min(length, 32 * 1024))
      const count = readSync(handles.get(handle.readUInt32BE())?.file ?? -1, bytes, 0, bytes.length, offset)
      if (count === 0) sftp.status(request, STATUS_CODE.EOF)
      else sftp.data(request, bytes.subarray(0, count))
    }),
  )
  sftp.on('WRITE', (request, handle, offset, bytes) =>
    done(request, () => void writeSync(handles.get(handle.readUInt32BE())?.file ?? -1, bytes, 0, bytes.length, offset)),
  )
  sftp.on('CLOSE', (request, handle) =>
    done(request, () => {
      const { file } = handles.get(handle.readUInt32BE()) ?? {}
      handles.delete(handle.readUInt32BE())
      if (file !== undefined) closeSync(file)
    }),
  )
  sftp.on('FSETSTAT', (request) => sftp.status(request, STATUS_CODE.OK))
  sftp.on('FSTAT', (request, handle) =>
    guarded(request, () =>
      sftp.attrs(request, attributesOf(fstatSync(handles.get(handle.readUInt32BE())?.file ?? -1))),
    ),
  )
  sftp.on('STAT', (request, path) => guarded(request, () => sftp.attrs(request, attributesOf(statSync(at(path))))))
  sftp.on('LSTAT', (request, path) => guarded(request, () => sftp.attrs(request, attributesOf(statSync(at(path))))))
  sftp.on('REALPATH', (request, path) =>
    guarded(request, () => sftp.name(request, [{ filename: at(path), longname: '', attrs: {} as never }])),
  )
  sftp.on('OPENDIR', (request, path) =>
    guarded(request, () => {
      handles.set(++next, { path: at(path), names: readdirSync(at(path)) })
      sftp.handle(request, handleOf(next))
    }),
  )
  sftp.on('READDIR', (request, handle) =>
    guarded(request, () => {
      const folderHandle = handles.get(handle.readUInt32BE())
      if (folderHandle?.names === undefined) throw new Error('Not a folder')
      const names = folderHandle.names.splice(0, 100)
      if (names.length === 0) return sftp.status(request, STATUS_CODE.EOF)
      sftp.name(
        request,
        names.map((filename) => ({
          filename,
          longname: filename,
          attrs: attributesOf(statSync(join(folderHandle.path, filename))) as never,
        })),
      )
    }),
  )
  sftp.on('REMOVE', (request, path) => done(request, () => unlinkSync(at(path))))
  sftp.on('RENAME', (request, from, to) =>
    done(request, () => {
      // SFTP version 3 does not replace an existing file.
      if (statSync(at(to), { throwIfNoEntry: false }) !== undefined) throw new Error('File exists')
      renameSync(at(from), at(to))
    }),
  )
}
