import { constants } from 'node:fs'
import type { AddressInfo } from 'node:net'
import ssh2, { type Connection, type FileEntry, type SFTPWrapper } from 'ssh2'

/*
 * A device with an SSH server, for tests of remote access: a shell that sends input back, commands, and files in memory. It
 * uses the library ssh2 and no code of the product.
 */

const { Server, utils } = ssh2

export type SshDevice = {
  port: number
  files: Map<string, Buffer>
  /** The sizes of the terminals in the order in which clients reported them, such as `80x24`. */
  sizes: string[]
} & AsyncDisposable

/** Creates a key. Some of the keys that the library creates cannot be read, so these are discarded. */
export function newKey(): { private: string; public: string } {
  for (;;) {
    const pair = utils.generateKeyPairSync('ed25519')
    const isValid = [pair.private, pair.public].every((text) => !(utils.parseKey(text) instanceof Error))
    if (isValid) return pair
  }
}

type DeviceOptions = { user: string; password: string; publicKey?: string }

export async function startSshDevice({ user, password, publicKey }: DeviceOptions): Promise<SshDevice> {
  const hostKey = newKey()
  const files = new Map<string, Buffer>()
  const sizes: string[] = []
  const connections = new Set<Connection>()
  const allowedKey = publicKey === undefined ? undefined : utils.parseKey(publicKey)
  const server = new Server({ hostKeys: [hostKey.private] }, (connection) => {
    connections.add(connection)
    connection.on('error', () => {}).on('close', () => connections.delete(connection))
    connection.on('authentication', (context) => {
      if (context.username !== user) return context.reject(['password', 'publickey'])
      if (context.method === 'password' && context.password === password) return context.accept()
      if (context.method === 'publickey' && allowedKey !== undefined && !(allowedKey instanceof Error)) {
        const isKnown = allowedKey.getPublicSSH().equals(context.key.data)
        const isSigned =
          context.signature === undefined ||
          allowedKey.verify(context.blob ?? Buffer.alloc(0), context.signature, context.hashAlgo) === true
        if (isKnown && isSigned) return context.accept()
      }
      context.reject(['password', 'publickey'])
    })
    connection.on('session', (accept) => {
      const session = accept()
      const resize = ({ cols, rows }: { cols: number; rows: number }) => void sizes.push(`${cols}x${rows}`)
      session.on('pty', (acceptPty, _reject, size) => {
        resize(size)
        acceptPty?.()
      })
      session.on('window-change', (acceptChange, _reject, size) => {
        resize(size)
        acceptChange?.()
      })
      session.on('shell', (acceptShell) => {
        const shell = acceptShell()
        shell.write('device> ')
        let line = ''
        shell.on('data', (bytes: Buffer) => {
          shell.write(bytes)
          line += bytes.toString()
          const [, code] = /exit (\d+)[\r\n]/.exec(line) ?? []
          if (code === undefined) return
          shell.exit(Number(code))
          shell.end()
        })
      })
      session.on('exec', (acceptExec, _reject, { command }) => {
        const channel = acceptExec()
        channel.write(`ran ${command}\n`)
        channel.exit(5)
        channel.end()
      })
      session.on('sftp', (acceptSftp) => serveFiles(acceptSftp(), files))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    files,
    sizes,
    async [Symbol.asyncDispose]() {
      for (const connection of connections) connection.end()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

const { STATUS_CODE: status } = utils.sftp

/** Serves files in memory. Each file is in the folder `/`. */
function serveFiles(sftp: SFTPWrapper, files: Map<string, Buffer>): void {
  const handles = new Map<number, string>()
  const attributesOf = (path: string) => {
    const isFolder = path === '/' || path === '.'
    const mode = isFolder ? constants.S_IFDIR | 0o755 : constants.S_IFREG | 0o644
    return { mode, uid: 0, gid: 0, size: files.get(path)?.length ?? 0, atime: 0, mtime: 0 }
  }
  const pathOf = (handle: Buffer) => handles.get(handle.readUInt32BE(0)) ?? ''
  const stat = (id: number, path: string) => {
    if (path === '/' || path === '.' || files.has(path)) sftp.attrs(id, attributesOf(path))
    else sftp.status(id, status.NO_SUCH_FILE)
  }
  const openHandle = (id: number, path: string) => {
    const number = handles.size
    handles.set(number, path)
    const handle = Buffer.alloc(4)
    handle.writeUInt32BE(number)
    sftp.handle(id, handle)
  }
  sftp.on('OPEN', (id, path, flags) => {
    const isWrite = (flags & utils.sftp.OPEN_MODE.WRITE) !== 0
    if (!isWrite && !files.has(path)) return void sftp.status(id, status.NO_SUCH_FILE)
    if (isWrite) files.set(path, Buffer.alloc(0))
    openHandle(id, path)
  })
  sftp.on('READ', (id, handle, offset, length) => {
    const bytes = files.get(pathOf(handle))?.subarray(offset, offset + length) ?? Buffer.alloc(0)
    if (bytes.length === 0) sftp.status(id, status.EOF)
    else sftp.data(id, bytes)
  })
  sftp.on('WRITE', (id, handle, offset, bytes) => {
    const content = grown(files.get(pathOf(handle)) ?? Buffer.alloc(0), offset + bytes.length)
    bytes.copy(content, offset)
    files.set(pathOf(handle), content)
    sftp.status(id, status.OK)
  })
  sftp.on('OPENDIR', (id, path) => openHandle(id, path))
  const listed = new Set<string>()
  sftp.on('READDIR', (id, handle) => {
    const key = handle.toString('hex')
    if (listed.has(key)) return void sftp.status(id, status.EOF)
    listed.add(key)
    const entries = [...files.keys()].map(
      (path): FileEntry => ({ filename: path.slice(1), longname: path.slice(1), attrs: attributesOf(path) }),
    )
    sftp.name(id, entries)
  })
  sftp.on('STAT', stat).on('LSTAT', stat)
  sftp.on('FSTAT', (id, handle) => stat(id, pathOf(handle)))
  sftp.on('FSETSTAT', (id) => sftp.status(id, status.OK)).on('SETSTAT', (id) => sftp.status(id, status.OK))
  sftp.on('REALPATH', (id, path) => {
    const filename = path === '.' ? '/' : path
    sftp.name(id, [{ filename, longname: filename, attrs: attributesOf(filename) }])
  })
  sftp.on('RENAME', (id, from, to) => {
    const content = files.get(from)
    if (content === undefined) return void sftp.status(id, status.NO_SUCH_FILE)
    if (files.has(to)) return void sftp.status(id, status.FAILURE)
    files.delete(from)
    files.set(to, content)
    sftp.status(id, status.OK)
  })
  sftp.on('REMOVE', (id, path) => void sftp.status(id, files.delete(path) ? status.OK : status.NO_SUCH_FILE))
  sftp.on('CLOSE', (id, handle) => {
    handles.set(handle.readUInt32BE(0), '')
    sftp.status(id, status.OK)
  })
}

/**
 * Returns the content with at least this length. New memory has twice the length, so that a file that is written in many
 * parts is copied only a few times.
 */
function grown(content: Buffer, length: number): Buffer {
  if (length <= content.length) return content
  if (length <= content.buffer.byteLength) return Buffer.from(content.buffer, 0, length)
  const larger = Buffer.alloc(2 * length)
  content.copy(larger)
  return larger.subarray(0, length)
}
