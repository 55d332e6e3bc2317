import type { DiscoveryResult } from '../define-link.ts'
import type { Neighbours } from '../network/neighbours.ts'

/** This file contains helpers for tests of links that scan devices on the loopback interface. */

/** A log that discards its entries. */
export const silentLog = { debug() {}, info() {}, warn() {}, error() {} }

/** The devices of the loopback interface. It has no ARP table, so each address has a MAC address that contains it. */
export const neighbours: Neighbours = {
  macAddressOf: async (ip) =>
    `02:00:${ip
      .split('.')
      .map((part) => Number(part).toString(16).padStart(2, '0'))
      .join(':')}`.toUpperCase(),
  ipAddressOf: async (mac) =>
    mac
      .split(':')
      .slice(2)
      .map((part) => Number.parseInt(part, 16))
      .join('.'),
}

/** Devices behind a router, whose MAC addresses are not known. */
export const behindRouter: Neighbours = { macAddressOf: async () => undefined, ipAddressOf: async () => undefined }

export function assetsIn(results: readonly DiscoveryResult[]) {
  return results.flatMap((one) => ('asset' in one ? [one.asset] : []))
}

export function errorsIn(results: readonly DiscoveryResult[]) {
  return results.flatMap((one) => ('error' in one ? [one.error] : []))
}
