import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { ReactNode } from 'react'

/**
 * The drawing of each class of assets, in a square of 64 units. `body` is the housing, `part` a part on it and `accent` a part that
 * identifies the class, for example a display or a port.
 */
const drawings: Readonly<Record<AssetClass, ReactNode>> = {
  gateway: (
    <>
      <path className="line" d="M20 24V8M44 24V8" />
      <rect className="body" x="8" y="24" width="48" height="28" rx="3" />
      <rect className="part" x="14" y="38" width="10" height="8" />
      <rect className="part" x="27" y="38" width="10" height="8" />
      <rect className="part" x="40" y="38" width="10" height="8" />
      <circle className="accent" cx="16" cy="31" r="2" />
      <circle className="accent" cx="23" cy="31" r="2" />
    </>
  ),
  switch: (
    <>
      <rect className="body" x="18" y="6" width="28" height="52" rx="3" />
      {[12, 22, 32, 42].map((y) => (
        <g key={y}>
          <rect className="part" x="23" y={y} width="8" height="7" />
          <rect className="part" x="33" y={y} width="8" height="7" />
        </g>
      ))}
      <circle className="accent" cx="27" cy="54" r="1.5" />
      <circle className="accent" cx="32" cy="54" r="1.5" />
      <circle className="accent" cx="37" cy="54" r="1.5" />
    </>
  ),
  controller: (
    <>
      <rect className="body" x="6" y="10" width="24" height="44" rx="2" />
      <rect className="body" x="30" y="10" width="14" height="44" rx="1" />
      <rect className="body" x="44" y="10" width="14" height="44" rx="1" />
      <rect className="accent" x="10" y="15" width="16" height="11" rx="1" />
      <rect className="part" x="10" y="40" width="7" height="8" />
      <rect className="part" x="19" y="40" width="7" height="8" />
      <path className="line" d="M35 18v28M40 18v28M49 18v28M54 18v28" />
    </>
  ),
  module: (
    <>
      <rect className="body" x="16" y="6" width="32" height="52" rx="2" />
      {[26, 33, 40, 47].map((y) => (
        <g key={y}>
          <circle className="part" cx="24" cy={y} r="2.5" />
          <circle className="part" cx="32" cy={y} r="2.5" />
          <circle className="part" cx="40" cy={y} r="2.5" />
        </g>
      ))}
      <rect className="accent" x="20" y="11" width="24" height="8" rx="1" />
    </>
  ),
  drive: (
    <>
      <rect className="body" x="14" y="4" width="36" height="56" rx="3" />
      <rect className="accent" x="20" y="10" width="24" height="12" rx="1" />
      <circle className="part" cx="32" cy="31" r="5" />
      <path className="line" d="M20 43h24M20 48h24M20 53h24" />
    </>
  ),
  sensor: (
    <>
      <rect className="body" x="22" y="8" width="20" height="30" rx="4" />
      <circle className="accent" cx="32" cy="19" r="6" />
      <rect className="part" x="27" y="38" width="10" height="8" />
      <path className="line" d="M32 46v5q0 6 8 6h12M12 12q-5 7 0 14M52 12q5 7 0 14" />
    </>
  ),
  panel: (
    <>
      <rect className="body" x="4" y="10" width="56" height="42" rx="3" />
      <rect className="accent" x="9" y="15" width="46" height="26" rx="1" />
      {[12, 21, 30, 39, 48].map((x) => (
        <rect key={x} className="part" x={x} y="44" width="5" height="4" />
      ))}
    </>
  ),
  computer: (
    <>
      <rect className="body" x="10" y="12" width="44" height="40" rx="3" />
      <path className="line" d="M16 19h32M16 24h32M16 29h32" />
      <rect className="part" x="16" y="38" width="9" height="8" />
      <rect className="part" x="28" y="38" width="9" height="8" />
      <circle className="accent" cx="46" cy="42" r="3" />
    </>
  ),
  software: (
    <>
      <rect className="body" x="6" y="10" width="52" height="44" rx="3" />
      <path className="line" d="M6 20h52M24 30l-8 7 8 7M40 30l8 7-8 7M35 28l-6 18" />
      <circle className="accent" cx="12" cy="15" r="2" />
      <circle className="accent" cx="18" cy="15" r="2" />
    </>
  ),
  other: (
    <>
      <rect className="body" x="10" y="14" width="44" height="36" rx="3" />
      <circle className="accent" cx="18" cy="22" r="2.5" />
      <path className="line" d="M26 22h20" />
      <rect className="part" x="16" y="34" width="10" height="9" />
      <rect className="part" x="30" y="34" width="10" height="9" />
    </>
  ),
}

/** `ProductPicture` is a simple drawing of the class of a product. It is decorative: the page also names the product. */
export function ProductPicture({ assetClass }: { assetClass: AssetClass }) {
  return (
    <svg className="product-picture" viewBox="0 0 64 64" aria-hidden="true" data-class={assetClass}>
      {drawings[assetClass]}
    </svg>
  )
}
