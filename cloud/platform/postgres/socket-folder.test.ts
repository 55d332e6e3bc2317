import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flawOf, socketFolders } from './socket-folder.ts'

test('gives a home its own folder, the same at each start, with a short path', () => {
  const [first = '', second = ''] = socketFolders('/home/one', '/var/tmp')
  assert.match(first, /^\/var\/tmp\/millwright-[0-9a-f]{16}$/)
  assert.match(second, /^\/tmp\/millwright-[0-9a-f]{16}$/)
  assert.deepEqual(socketFolders('/home/one', '/var/tmp/'), [first, second])
  assert.notDeepEqual(socketFolders('/home/two', '/var/tmp'), [first, second])
  assert.deepEqual(socketFolders('/home/one', '/tmp'), [second])
})

test('counts the length of a path in bytes', () => {
  assert.equal(socketFolders('/home', `/${'x'.repeat(60)}`).length, 2)
  assert.equal(socketFolders('/home', `/${'ü'.repeat(60)}`).length, 1)
})

for (const { title, uid = 1000, mode = 0o40700, folder = true, flaw } of [
  { title: 'our own', flaw: undefined },
  { title: 'the server user’s', uid: 70, flaw: undefined },
  { title: 'somebody else’s', uid: 4711, flaw: 'it belongs to user 4711' },
  { title: 'open', mode: 0o41777, flaw: 'other users can enter it (mode 1777)' },
  { title: 'a link', folder: false, flaw: 'it is not a folder' },
]) {
  test(`a folder that is ${title} is ${flaw === undefined ? 'used' : 'refused'}`, () =>
    assert.equal(flawOf({ uid, mode, isDirectory: () => folder }, [1000, 70]), flaw))
}
