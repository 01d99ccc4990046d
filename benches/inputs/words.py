"""Word lists and small text makers: prose, identifiers, and sentences in Thai, Chinese, Japanese and Korean.

Everything a generator writes comes from here or from `code.py`. A maker takes a `random.Random` and is a
pure function of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


def _split(text: str) -> list[str]:
    return text.split()


ENTITIES = _split(
    "parcel carrier depot manifest tariff driver pallet invoice label route scanner customer refund "
    "quota webhook shelf courier container voucher surcharge"
)
FIELDS = _split(
    "weight_grams status created_at updated_at owner_id tracking_code country postcode retries "
    "priority volume currency amount_cents barcode attempts last_error note channel zone checksum "
    "lane eta_minutes batch_key"
)
VERBS = _split(
    "load store merge split assign cancel resolve expire rank schedule validate dispatch archive reopen sync"
)
NOUNS = _split(
    "queue retry window batch cursor lock budget header token buffer schema index limit offset "
    "worker payload event session snapshot registry adapter cache migration policy handler"
)
ADJECTIVES = _split(
    "stale pending late empty nested shared partial strict lazy frozen broken remote local final early"
)
LINKS = _split("before after while unless because until whenever once although")

THAI = _split(
    "พัสดุ ขนส่ง คลังสินค้า ลูกค้า สถานะ ล่าช้า ระบบ ข้อมูล ตรวจสอบ แก้ไข รายการ เส้นทาง พนักงาน "
    "ใบแจ้งหนี้ เวลา จัดส่ง กรุงเทพฯ เชียงใหม่ หมายเลข ติดตาม กรุณา ยืนยัน ที่อยู่ ปลายทาง น้ำหนัก "
    "ราคา เกินกำหนด คืนเงิน สำเร็จ ผิดพลาด"
)
CHINESE = _split(
    "包裹 承运商 仓库 状态 延迟 系统 数据 检查 修改 清单 路线 司机 发票 时间 配送 上海 深圳 编号 "
    "追踪 请 确认 地址 目的地 重量 价格 超时 退款 成功 错误 队列"
)
JAPANESE = _split(
    "荷物 の 配送 状況 を 確認 して ください 倉庫 から 遅延 が 発生 しました 再試行 は 三回 まで "
    "住所 と 重量 に 誤り"
)
KOREAN = _split("소포 배송 상태 확인 창고 지연 시스템 오류 재시도 주소 무게 환불 완료 경로 기사")
EMOJI = ("📦", "🚚", "✅", "⚠️", "👩🏽\u200d💻", "🇹🇭", "🔥", "🏷️", "🧾", "👍🏼")


def identifier(rng: Random) -> str:
    """Return a snake_case name such as `resolve_stale_cursor`."""
    return f"{rng.choice(VERBS)}_{rng.choice(ADJECTIVES)}_{rng.choice(NOUNS)}"


def camel(name: str) -> str:
    """Return `name` in CamelCase."""
    return "".join(piece.capitalize() for piece in name.split("_"))


def sentence(rng: Random) -> str:
    """Return one English sentence about the made-up service."""
    what, owner, deed = rng.choice(NOUNS), rng.choice(ENTITIES), rng.choice(VERBS)
    link, other, state = rng.choice(LINKS), rng.choice(NOUNS), rng.choice(ADJECTIVES)
    start = f"The {rng.choice(ADJECTIVES)} {what} of a {owner} has to {deed} the {rng.choice(NOUNS)}"
    return f"{start} {link} the {rng.choice(ENTITIES)} {other} is {state}."


def prose(rng: Random, sentences: int) -> str:
    """Return a paragraph of `sentences` sentences."""
    return " ".join(sentence(rng) for _ in range(sentences))


def foreign(rng: Random, words: Sequence[str], count: int, joiner: str) -> str:
    """Return `count` words of a list, joined, with a number or an ASCII code now and then."""
    return joiner.join(
        rng.choice(words) if rng.random() < 0.94 else f" {rng.randrange(10, 9999)} " for _ in range(count)
    )


def thai(rng: Random, count: int = 14) -> str:
    """Return a Thai clause; Thai puts no space between words, only between clauses."""
    return " ".join(foreign(rng, THAI, 7, "") for _ in range(max(1, count // 7)))


def chinese(rng: Random, count: int = 14) -> str:
    """Return a Chinese sentence."""
    return foreign(rng, CHINESE, count, "") + "。"


def japanese(rng: Random, count: int = 14) -> str:
    """Return a Japanese sentence."""
    return foreign(rng, JAPANESE, count, "") + "。"


def korean(rng: Random, count: int = 10) -> str:
    """Return a Korean sentence."""
    return foreign(rng, KOREAN, count, " ") + "."


def emoji(rng: Random, count: int = 3) -> str:
    """Return a few emoji, some of several code points."""
    return "".join(rng.choice(EMOJI) for _ in range(count))


def hexadecimal(rng: Random, digits: int) -> str:
    """Return `digits` lower-case hexadecimal digits."""
    return f"{rng.getrandbits(digits * 4):0{digits}x}"
