import { IxIcon } from '@siemens/ix-react'

/** `Icon` is a decorative icon of the design system. Screen readers ignore it. */
export function Icon({ name, size = 24 }: { name: string; size?: 12 | 16 | 24 | 32 }) {
  return <IxIcon name={name} size={`${size}`} className="icon" aria-hidden="true" />
}
