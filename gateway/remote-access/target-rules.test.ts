import assert from 'node:assert/strict'
import { isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, test } from 'node:test'
import { addressOfNumber } from '@millwright/api/ip-range.ts'
import fc from 'fast-check'
import type { RemoteAccessSettings } from './remote-access-settings.ts'
import { isNetwork, normalAddress, ownMachine, type RuleContext, refusalOf } from './target-rules.ts'

const own = {
  addresses: ['10.0.0.2', 'fd00::2', '127.0.0.1', '::1'],
  broadcasts: ['10.0.0.255'],
  ports: [50_051, 8_090],
}
const everything: RemoteAccessSettings = {
  isEnabled: true,
  loopback: true,
  allow: ['0.0.0.0/0', '::/0'].map((network) => ({ network, ports: [22, 80, 8_090, 50_051] })),
}
const open: RuleContext = { settings: everything, isFound: () => true, own }
const refusal = (address: string, { port = 22, ...context }: Partial<RuleContext> & { port?: number } = {}) =>
  refusalOf({ address, port }, { ...open, ...context })

describe('target rules', () => {
  for (const [address, reason] of [
    ['0.0.0.0', /not the address of a device/],
    ['0.1.2.3', /not the address of a device/],
    ['::', /not the address of a device/],
    ['169.254.0.1', /link-local/],
    ['169.254.169.254', /metadata/],
    ['168.63.129.16', /metadata/],
    ['100.100.100.200', /metadata/],
    ['192.0.0.192', /metadata/],
    ['fd00:ec2::254', /metadata/],
    ['fd20:ce::254', /metadata/],
    ['fe80::1', /link-local/],
    ['febf:ffff::1', /link-local/],
    ['224.0.0.1', /multicast/],
    ['239.255.255.250', /multicast/],
    ['ff02::1', /multicast/],
    ['255.255.255.255', /broadcast/],
    ['10.0.0.255', /broadcast/],
    ['240.0.0.1', /reserved/],
    ['10.0.0.2', /address of the gateway/],
    ['fd00::2', /address of the gateway/],
    // The same addresses, embedded in an IPv6 address
    ['::ffff:169.254.169.254', /metadata/],
    ['::ffff:a9fe:a9fe', /metadata/],
    ['0:0:0:0:0:ffff:a9fe:a9fe', /metadata/],
    ['::FFFF:169.254.169.254', /metadata/],
    ['::ffff:0.0.0.0', /not the address of a device/],
    ['::ffff:255.255.255.255', /broadcast/],
    ['::ffff:10.0.0.2', /address of the gateway/],
    ['::ffff:10.0.0.255', /broadcast/],
    ['::127.0.0.1', /contains an IPv4 address/],
    ['::ffff:0:127.0.0.1', /contains an IPv4 address/],
    ['64:ff9b::127.0.0.1', /contains an IPv4 address/],
    ['64:ff9b:1::7f00:1', /contains an IPv4 address/],
    ['64:ff9b:1:ffff::a9fe:a9fe', /contains an IPv4 address/],
    ['2002:7f00:1::', /contains an IPv4 address/],
    ['2002:a9fe:a9fe::1', /contains an IPv4 address/],
    ['2001:0:7f00:1::', /contains an IPv4 address/],
    ['fd00::5efe:10.0.0.2', /contains an IPv4 address/],
    ['2001:db8::200:5efe:7f00:1', /contains an IPv4 address/],
    // Text that other programs read as an address
    ['2130706433', /not a plain IP address/],
    ['0x7f000001', /not a plain IP address/],
    ['0x7f.0.0.1', /not a plain IP address/],
    ['017700000001', /not a plain IP address/],
    ['0177.0.0.1', /not a plain IP address/],
    ['127.1', /not a plain IP address/],
    ['127.0.1', /not a plain IP address/],
    ['10.0.0.010', /not a plain IP address/],
    ['10.0.0.1.', /not a plain IP address/],
    [' 10.0.0.1', /not a plain IP address/],
    ['10.0.0.1 ', /not a plain IP address/],
    ['10.0.0.1\n', /not a plain IP address/],
    ['10.0.0.1\0', /not a plain IP address/],
    ['10.0.0.1:22', /not a plain IP address/],
    ['10.0.0.1/32', /not a plain IP address/],
    ['[fd00::1]', /not a plain IP address/],
    ['fe80::1%eth0', /not a plain IP address/],
    ['fd00::1%1', /not a plain IP address/],
    ['::1%lo', /not a plain IP address/],
    ['１０.0.0.1', /not a plain IP address/],
    ['10。0。0。1', /not a plain IP address/],
    ['localhost', /not a plain IP address/],
    ['device.example.com', /not a plain IP address/],
    ['', /not a plain IP address/],
  ] as const)
    test(`refuse ${JSON.stringify(address)}, even if the local file allows every network`, () => {
      assert.match(refusal(address) ?? 'allowed', reason)
    })

  for (const address of ['10.0.0.1', '192.168.1.1', '8.8.8.8', 'fd00::1', '2001:db8::1', '::ffff:10.0.0.1'])
    test(`allow ${address} if the local file allows every network`, () => {
      assert.equal(refusal(address), undefined)
    })

  test('refuse loopback addresses unless the local file allows them', () => {
    for (const address of ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1']) {
      assert.match(refusal(address, { settings: { ...everything, loopback: false } }) ?? '', /own machine/)
      assert.equal(refusal(address), undefined)
    }
  })

  test('refuse the ports of the gateway at every loopback address', () => {
    for (const address of ['127.0.0.1', '127.0.0.9', '::1', '::ffff:127.0.0.1'])
      for (const port of own.ports) assert.match(refusal(address, { port }) ?? '', /port of the gateway/)
    assert.equal(refusal('10.0.0.1', { port: 8_090 }), undefined)
  })

  test('refuse ports that are not numbers from 1 to 65535', () => {
    for (const port of [0, -1, 65_536, 22.5, Number.NaN, Number.POSITIVE_INFINITY, '22' as unknown as number])
      assert.match(refusal('10.0.0.1', { port }) ?? '', /number from 1 to 65535/)
  })

  test('allow only found devices and the default ports without a list in the local file', () => {
    const settings = { isEnabled: true, loopback: false }
    const isFound = (address: string) => ['10.0.0.7', 'fd00::7'].includes(address)
    for (const address of ['10.0.0.7', '::ffff:10.0.0.7', 'fd00::7', 'FD00:0::7'])
      for (const port of [22, 80, 443]) assert.equal(refusal(address, { settings, isFound, port }), undefined)
    assert.match(refusal('10.0.0.8', { settings, isFound }) ?? '', /found no device at 10\.0\.0\.8/)
    assert.match(refusal('10.0.0.7', { settings, isFound, port: 23 }) ?? '', /only the ports 22, 80, 443/)
  })

  test('allow only listed networks with their own ports, also for found devices', () => {
    const settings = {
      isEnabled: true,
      loopback: false,
      allow: [
        { network: '10.1.0.0/16', ports: [22] },
        { network: '10.2.0.1-10.2.0.9', ports: [80] },
        { network: 'fd00::/16', ports: [443] },
      ],
    }
    const isAllowed = (address: string, port: number) => refusal(address, { settings, port }) === undefined
    assert.ok(isAllowed('10.1.255.255', 22) && isAllowed('10.2.0.9', 80) && isAllowed('fd00:0:1::5', 443))
    assert.ok(!isAllowed('10.1.0.1', 80) && !isAllowed('10.2.0.10', 80) && !isAllowed('fd01::1', 443))
    assert.ok(!isAllowed('10.0.0.7', 22))
    assert.match(refusal('10.0.0.7', { settings: { ...settings, allow: [] } }) ?? '', /does not allow 10\.0\.0\.7/)
  })

  test('refuse every target while remote access is switched off', () => {
    assert.match(refusal('10.0.0.1', { settings: { ...everything, isEnabled: false } }) ?? '', /switched off/)
  })

  test('do not allow IPv4 addresses because of an IPv6 network, or the reverse', () => {
    const only = (network: string) => ({ settings: { ...everything, allow: [{ network, ports: [22] }] } })
    assert.match(refusal('10.0.0.1', only('::/0')) ?? '', /does not allow/)
    assert.match(refusal('2001:db8::1', only('0.0.0.0/0')) ?? '', /does not allow/)
    assert.equal(isNetwork('::ffff:0.0.0.0/96'), false)
  })

  test('an address is refused in each of its forms if one form is refused', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.constantFrom(22, 8_090), fc.boolean(), (address, port, loopback) => {
        const context = { settings: { ...everything, loopback }, port }
        const plain = refusal(address, context) === undefined
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
        const hex = [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(':')
        for (const mapped of [`::ffff:${address}`, `::ffff:${hex}`, `0:0:0:0:0:FFFF:${hex}`])
          assert.equal(refusal(mapped, context) === undefined, plain, mapped)
        for (const other of [
          `::ffff:0:${hex}`,
          `64:ff9b::${hex}`,
          `64:ff9b:1::${hex}`,
          `2002:${hex}::1`,
          `2001:0:${hex}::`,
          `fd00::5efe:${hex}`,
          `fd00::200:5efe:${hex}`,
        ])
          assert.notEqual(refusal(other, context), undefined, other)
        const number = ((a * 256 + b) * 256 + c) * 256 + d
        for (const text of [String(number), `0x${number.toString(16)}`, `0${number.toString(8)}`, `${address}.`])
          assert.notEqual(refusal(text, context), undefined, text)
      }),
    )
  })

  test('the normal form of an address is stable, and is an address without a zone', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.ipV4Extended()), (text) => {
        const normal = normalAddress(text)
        if (normal === undefined) return
        assert.ok(isIPv4(normal) || isIPv6(normal))
        assert.equal(normalAddress(normal), normal)
        assert.ok(!normal.includes('%') && !/^::ffff:[^:]+:[^:]+$/.test(normal))
      }),
    )
  })

  test('no text makes the rules throw, or allows an address that is not listed', () => {
    const settings = { isEnabled: true, loopback: true, allow: [{ network: '10.1.0.0/16', ports: [22] }] }
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.ipV4(), fc.ipV6(), fc.domain()),
        fc.integer(),
        (text, port) => {
          if (refusal(text, { settings, port }) !== undefined) return
          assert.match(normalAddress(text) ?? '', /^10\.1\./)
          assert.equal(port, 22)
        },
      ),
    )
    for (let number = 0x0a01_0000; number < 0x0a01_0100; number++)
      assert.equal(refusal(addressOfNumber(number), { settings }), undefined)
  })

  test('the addresses of this machine are its own', () => {
    const { addresses } = ownMachine([])
    for (const { address } of Object.values(networkInterfaces()).flatMap((one) => one ?? []))
      assert.ok(addresses.includes(normalAddress(address.replace(/%.*/, '')) ?? ''), address)
  })
})
