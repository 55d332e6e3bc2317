import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { nobody } from '@millwright/cloud/platform/postgres/testing.ts'
import type { NetworkNamespaces } from './network-namespaces.ts'

/** This file stands for the machine of a gateway: it has few programs, and runs the installation command of the console. */

/** The programs that the machine of a gateway needs. It has no node and no npm. */
const programs =
  'basename cat chmod cp dirname gzip id ln mkdir mktemp mv readlink rm sed sh sha256sum tar tr uname'.split(' ')
/** The programs that the installation of a service needs in addition. */
export const servicePrograms = 'cut date echo env head setsid sleep tail xargs'.split(' ')

/** `Machine` is a folder that stands for a new machine: it contains a PATH with few programs, and no data. */
export type Machine = { folder: string; path: string; program: string; data: string }

export function newMachine(
  folder: string,
  { download, others = [] }: { download: string; others?: readonly string[] },
): Machine {
  const path = join(folder, 'bin')
  mkdirSync(path, { recursive: true })
  for (const name of [...programs, ...others, download])
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(path, name))
  const program = join(folder, 'program files')
  return { folder, path, program, data: join(program, 'data') }
}

export type CommandRun = { child: ChildProcess; output: () => string; ended: Promise<number> } & AsyncDisposable

type Start = (program: string, args: readonly string[], options: SpawnOptions) => ChildProcess

type PasteOptions = {
  /** The content of standard input. */
  input?: string
  /** Starts the shell, by default on this machine. */
  start?: Start
}

/** Runs the installation command as a user pastes it, with the folder of the machine as working folder. */
export function paste(machine: Machine, command: string, options: PasteOptions = {}): CommandRun {
  const { input = '', start = spawn } = options
  const settings: SpawnOptions = {
    cwd: machine.folder,
    // The command and the gateway are one process group, which the test ends.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: machine.path,
      HOME: machine.folder,
      TMPDIR: machine.folder,
      MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0',
      MILLWRIGHT_GATEWAY_PROXY_PORT: '0',
    },
  }
  const child = start('sh', ['-c', `${command} --prefix '${machine.program}'`], settings)
  child.stdin?.on('error', () => {}).end(input)
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  const ended = once(child, 'close').then(([code]) => Number(code))
  return {
    child,
    output: () => printed,
    ended,
    async [Symbol.asyncDispose]() {
      const isRunning = child.exitCode === null && child.signalCode === null
      if (isRunning && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      await ended
    },
  }
}

/** Returns a function that starts programs as an ordinary user in a network namespace, with the given PATH. */
export function startIn(namespaces: NetworkNamespaces, namespace: string): Start {
  return (program, args, options) => {
    const { env } = options
    const user = ['setpriv', `--reuid=${nobody.uid}`, `--regid=${nobody.gid}`, '--clear-groups']
    const command = [...user, 'env', `PATH=${env?.PATH}`, program, ...args]
    return namespaces.spawn(namespace, command, { ...options, env: { ...env, PATH: process.env.PATH } })
  }
}
