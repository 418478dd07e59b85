from regard.core.random_streams import stream


def test_streams_differ_by_seed_and_by_every_name():
    firsts = {
        stream(seed, *names).random()
        for seed in (0, 1)
        for names in [(), ("a",), ("a", 1), ("a", "1"), ("a1",), ("b",)]
    }
    assert len(firsts) == 12
    assert stream(7, "x").random() == stream(7, "x").random()
