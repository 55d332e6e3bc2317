import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flawOf, socketFolders } from './socket-folder.ts'

test('returns a short socket folder path that is different for each home and the same at each start', () => {
  const [first = '', second = ''] = socketFolders('/home/one', '/var/tmp')
  assert.match(first, /^\/var\/tmp\/millwright-[0-9a-f]{16}$/)
  assert.match(second, /^\/tmp\/millwright-[0-9a-f]{16}$/)
  assert.deepEqual(socketFolders('/home/one', '/var/tmp/'), [first, second])
  assert.notDeepEqual(socketFolders('/home/two', '/var/tmp'), [first, second])
  assert.deepEqual(socketFolders('/home/one', '/tmp'), [second])
})

test('measures the length of a socket path in bytes', () => {
  assert.equal(socketFolders('/home', `/${'x'.repeat(60)}`).length, 2)
  assert.equal(socketFolders('/home', `/${'ü'.repeat(60)}`).length, 1)
})

for (const { title, uid = 1000, mode = 0o40700, folder = true, flaw } of [
  { title: 'of the current user', flaw: undefined },
  { title: 'of the server user', uid: 70, flaw: undefined },
  { title: 'of another user', uid: 4711, flaw: 'it belongs to user 4711' },
  { title: 'that other users can enter', mode: 0o41777, flaw: 'other users can enter it (mode 1777)' },
  { title: 'that is a symbolic link', folder: false, flaw: 'it is not a folder' },
]) {
  test(`${flaw === undefined ? 'accepts' : 'refuses'} a socket folder ${title}`, () =>
    assert.equal(flawOf({ uid, mode, isDirectory: () => folder }, [1000, 70]), flaw))
}
