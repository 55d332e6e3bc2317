import { IxIcon } from '@siemens/ix-react'

/** An icon of the design system. It says nothing that words beside it do not say. */
export function Icon({ name, size = 24 }: { name: string; size?: 12 | 16 | 24 | 32 }) {
  return <IxIcon name={name} size={`${size}`} className="icon" aria-hidden="true" />
}
